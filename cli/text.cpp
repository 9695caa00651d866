// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace scout::cli {
namespace {

constexpr std::size_t longest_word = 300;
constexpr std::size_t longest_text = 16384;

struct Decoded {
    char32_t point = 0;
    std::size_t length = 0;  ///< 0: no valid sequence starts here
};

unsigned char byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Bytes that a sequence with this lead byte has; 0 for bytes that cannot lead.
std::size_t sequence_length(unsigned char lead) {
    if (lead < 0x80U) {
        return 1;
    }
    if (lead >= 0xc2U && lead <= 0xdfU) {
        return 2;
    }
    if (lead >= 0xe0U && lead <= 0xefU) {
        return 3;
    }
    return lead >= 0xf0U && lead <= 0xf4U ? 4 : 0;
}

Decoded decode(std::string_view text, std::size_t at) {
    const auto lead = byte_at(text, at);
    const auto length = sequence_length(lead);
    if (length == 0 || at + length > text.size()) {
        return {};
    }
    if (length == 1) {
        return {.point = lead, .length = 1};
    }
    char32_t point = lead & (0x7fU >> length);
    for (std::size_t next = 1; next < length; ++next) {
        const auto byte = byte_at(text, at + next);
        if ((byte & 0xc0U) != 0x80U) {
            return {};
        }
        point = (point << 6U) | (byte & 0x3fU);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (overlong || surrogate || point > 0x10ffff) {
        return {};
    }
    return {.point = point, .length = length};
}

bool is_control(char32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

/// At most so many bytes, without the rest of a character at the end.
std::string head_of(std::string_view text, std::size_t most) {
    while (most > 0 && most < text.size() && (byte_at(text, most) & 0xc0U) == 0x80U) {
        --most;
    }
    return std::string(text.substr(0, most));
}

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
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto decoded = decode(text, at);
        if (decoded.length == 0) {
            out += "\xef\xbf\xbd";
            ++at;
            continue;
        }
        out += text.substr(at, decoded.length);
        at += decoded.length;
    }
    return out;
}

bool is_valid_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const auto decoded = decode(text, at);
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
        const auto decoded = decode(text, at);
        if (decoded.length == 0) {
            out += "\xef\xbf\xbd";
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
        out += word.size() > longest_word ? head_of(word, longest_word) + "…" : std::string(word);
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
