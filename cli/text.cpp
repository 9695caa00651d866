// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace scout::cli {
namespace {

constexpr std::size_t longest_word = 300;
constexpr std::size_t longest_text = 16384;
/// U+FFFD.
constexpr std::string_view replacement = "\xef\xbf\xbd";

void append_escape(std::string& out, char32_t point) {
    if (point == '\n' || point == '\t' || point == '\r') {
        out += '\\';
        out += point == '\n' ? 'n' : (point == '\t' ? 't' : 'r');
        return;
    }
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), point < 0x100 ? "\\x%02x" : "\\u%04x",
                  static_cast<unsigned>(point));
    out += buffer.data();
}

}  // namespace

std::string valid_utf8(std::string_view text) {
    return replace_strays(text, [](std::string& out, char) { out += replacement; });
}

bool is_valid_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const auto decoded = first_character(text.substr(at));
        if (decoded.length == 0) {
            return false;
        }
        at += decoded.length;
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto decoded = first_character(text.substr(at));
        if (decoded.length == 0) {
            out += replacement;
            ++at;
            continue;
        }
        if (is_control(decoded.point)) {
            append_escape(out, decoded.point);
        } else {
            out += text.substr(at, decoded.length);
        }
        at += decoded.length;
    }
    return out;
}

std::string shortened(std::string_view text) {
    std::string out;
    while (!text.empty() && out.size() < longest_text) {
        const auto word = text.substr(0, text.find(' '));
        out += head_of(word, longest_word);
        out += word.size() > longest_word ? "…" : "";
        text.remove_prefix(word.size());
        const auto spaces = std::min(text.find_first_not_of(' '), text.size());
        out.append(std::min(spaces, longest_word), ' ');
        text.remove_prefix(spaces);
    }
    return text.empty() ? out : out + "…";
}

std::string shown(std::string_view text) {
    return printable(shortened(text));
}

bool has_controls(std::string_view text) {
    return printable(text) != text;
}

std::size_t width(std::string_view utf8) noexcept {
    std::size_t points = 0;
    for (const char c : utf8) {
        points += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1U : 0U;
    }
    return points;
}

}  // namespace scout::cli
