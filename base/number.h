// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace scout {

/// A whole non-negative decimal number; nothing for anything else, an empty text included.
[[nodiscard]] inline std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last) {
        return std::nullopt;
    }
    return value;
}

/// A whole decimal number as Go's strconv.Atoi and ParseInt of 64 bits read it: '-' or '+' may
/// stand before it.
[[nodiscard]] inline std::optional<std::int64_t> go_integer(std::string_view text) noexcept {
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) {
            return std::nullopt;
        }
    }
    std::int64_t value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    return error == std::errc{} && end == last ? std::optional{value} : std::nullopt;
}

/// The greatest number where the sum would be greater.
[[nodiscard]] constexpr std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) noexcept {
    return b > ~a ? ~std::uint64_t{0} : a + b;
}

}  // namespace scout
