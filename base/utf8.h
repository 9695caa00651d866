// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
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

/// The text with every byte at which no valid sequence begins replaced by what `instead` appends
/// for it. Any thread.
[[nodiscard]] std::string replace_strays(std::string_view text,
                                         void (*instead)(std::string& out, char stray));

/// A character that does something to a terminal or to how text on it reads: C0, DEL, C1, line and
/// paragraph separators, marks and overrides of direction, the byte order mark. Any thread.
[[nodiscard]] bool is_control(char32_t point) noexcept;

/// At most so many bytes of the text, without half a character at the end.
[[nodiscard]] std::string_view head_of(std::string_view text, std::size_t most) noexcept;

}  // namespace scout
