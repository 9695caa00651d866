// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace scout {

/// The character at the begin of a text.
struct Utf8Character {
    char32_t point = 0;
    std::size_t length = 0;  ///< in bytes; 0: no valid sequence begins there
};

/// Overlong forms, surrogates and what is above U+10FFFF are not valid (RFC 3629), nor is the empty
/// text. Any thread.
[[nodiscard]] Utf8Character first_character(std::string_view text) noexcept;

/// At most so many bytes of the text, without half a character at the end.
[[nodiscard]] std::string_view head_of(std::string_view text, std::size_t most) noexcept;

}  // namespace scout
