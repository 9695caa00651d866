// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scout::kube {

/// Readable bytes behind every text for the JSON reader, which loads whole vectors and looks that
/// far past the end. What they hold does not matter. Spares a copy of each line of a watch.
inline constexpr std::size_t json_padding = 64;

/// A text behind which json_padding bytes can be read, as the JSON reader needs it.
class PaddedText {
public:
    /// Of a text that stays where it is; it may be moved to a larger place first.
    [[nodiscard]] static PaddedText of(std::string& text) {
        if (text.capacity() < text.size() + json_padding) {
            text.reserve(text.size() + json_padding);
        }
        return PaddedText{text};
    }
    /// Of a line of an HttpStream, or a part of a padded text.
    [[nodiscard]] static PaddedText promised(std::string_view text) noexcept {
        return PaddedText{text};
    }

    [[nodiscard]] std::string_view view() const noexcept { return text_; }

private:
    explicit PaddedText(std::string_view text) noexcept : text_(text) {}

    std::string_view text_;
};

}  // namespace scout::kube
