// SPDX-License-Identifier: Apache-2.0
#include "migration/label_syntax.h"

#include <algorithm>

namespace scout::migration {
namespace {

constexpr std::size_t longest_name = 63;
constexpr std::size_t longest_prefix = 253;

constexpr bool is_lower_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
constexpr bool is_letter_or_digit(char c) noexcept {
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

bool is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest_name && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

bool is_dns_label(std::string_view text) noexcept {
    return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

}  // namespace

bool is_dns_subdomain(std::string_view text) noexcept {
    if (text.size() > longest_prefix) {
        return false;
    }
    for (;;) {
        const auto dot = text.find('.');
        if (!is_dns_label(text.substr(0, dot))) {
            return false;
        }
        if (dot == std::string_view::npos) {
            return true;
        }
        text.remove_prefix(dot + 1);
    }
}

bool is_label_key(std::string_view text) noexcept {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return is_name(text);
    }
    return is_dns_subdomain(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) noexcept {
    return text.empty() || is_name(text);
}

}  // namespace scout::migration
