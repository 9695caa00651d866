// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube/transport.h"

namespace scout::kube {

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
