// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scout::cli {

/// The text as valid UTF-8: what is not becomes U+FFFD, one for each byte. JSON and YAML writers
/// take nothing else.
[[nodiscard]] std::string valid_utf8(std::string_view text);

[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;

/// Safe on a terminal: valid UTF-8 with control characters (C0, DEL, C1, line and paragraph
/// separators, bidirectional overrides) written as `\n`, `\x1b`, `\u202e`.
[[nodiscard]] std::string printable(std::string_view text);

/// The same text with words over 300 bytes cut (`…`), and so the whole after 16 KiB: names come
/// from outside and can be as long as a document, sentences and lists of honest names are not.
[[nodiscard]] std::string shortened(std::string_view text);

/// What a terminal shows of any text: `printable` and `shortened`.
[[nodiscard]] std::string shown(std::string_view text);

/// True if `printable` would change it.
[[nodiscard]] bool has_controls(std::string_view text);

/// Code points: columns on the terminal for the scripts that names are written in.
[[nodiscard]] std::size_t width(std::string_view utf8) noexcept;

}  // namespace scout::cli
