// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace scout {
namespace {

bool continues(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// Bytes that a sequence with this lead byte has; 0 for bytes that cannot lead.
std::size_t sequence_length(unsigned char lead) noexcept {
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

}  // namespace

Utf8Character first_character(std::string_view text) noexcept {
    if (text.empty()) {
        return {};
    }
    const auto lead = static_cast<unsigned char>(text.front());
    const auto length = sequence_length(lead);
    if (length == 0 || length > text.size()) {
        return {};
    }
    if (length == 1) {
        return {.point = lead, .length = 1};
    }
    char32_t point = lead & (0x7fU >> length);
    for (const char c : text.substr(1, length - 1)) {
        if (!continues(c)) {
            return {};
        }
        point = (point << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (overlong || surrogate || point > 0x10ffff) {
        return {};
    }
    return {.point = point, .length = length};
}

std::string replace_strays(std::string_view text, void (*instead)(std::string& out, char stray)) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto length = first_character(text).length;
        if (length == 0) {
            instead(out, text.front());
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

bool is_control(char32_t point) noexcept {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

std::string_view head_of(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) {
        return text;
    }
    while (most > 0 && continues(text[most])) {
        --most;
    }
    return text.substr(0, most);
}

}  // namespace scout
