// SPDX-License-Identifier: Apache-2.0
#include "migration/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

namespace scout::migration {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t parts_in_one = 1'000'000'000'000'000'000;
constexpr unsigned part_digits = 18;
// Beyond it every number is the largest one, or nothing.
constexpr int largest_exponent = 40;

struct Scale {
    std::string_view suffix;
    unsigned twos = 0;  ///< the power of two
    int tens = 0;       ///< the power of ten
};

constexpr std::array<Scale, 16> scales{{{"", 0, 0},
                                        {"n", 0, -9},
                                        {"u", 0, -6},
                                        {"m", 0, -3},
                                        {"k", 0, 3},
                                        {"M", 0, 6},
                                        {"G", 0, 9},
                                        {"T", 0, 12},
                                        {"P", 0, 15},
                                        {"E", 0, 18},
                                        {"Ki", 10, 0},
                                        {"Mi", 20, 0},
                                        {"Gi", 30, 0},
                                        {"Ti", 40, 0},
                                        {"Pi", 50, 0},
                                        {"Ei", 60, 0}}};

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

constexpr std::uint64_t value_of(char digit) noexcept {
    return static_cast<std::uint64_t>(digit - '0');
}

std::string_view take_digits(std::string_view& text) noexcept {
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    return digits;
}

std::optional<Scale> exponent(std::string_view suffix) noexcept {
    if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) {
        return std::nullopt;
    }
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    int tens = 0;
    const auto* const last = suffix.data() + suffix.size();
    const auto [end, error] = std::from_chars(suffix.data(), last, tens);
    if (error != std::errc{} || end != last) {
        return std::nullopt;
    }
    return Scale{.suffix = {}, .tens = std::clamp(tens, -largest_exponent, largest_exponent)};
}

std::optional<Scale> scale_of(std::string_view suffix) noexcept {
    const auto* const known =
        std::find_if(scales.begin(), scales.end(),
                     [suffix](const Scale& scale) { return scale.suffix == suffix; });
    return known != scales.end() ? std::optional{*known} : exponent(suffix);
}

std::string expectation(std::string_view found) {
    constexpr std::size_t shown = 40;
    return "expected a quantity: a number that is not negative, with nothing behind it or one of "
           "Ki Mi Gi Ti Pi Ei n u m k M G T P E, or e and a power of ten; found '" +
           std::string{found.substr(0, shown)} + (found.size() > shown ? "…'" : "'");
}

}  // namespace

void Quantity::limit() noexcept {
    if (whole_ > most) {
        whole_ = most;
        part_ = 0;
    }
}

void Quantity::twice() noexcept {
    part_ *= 2;
    whole_ = whole_ * 2 + part_ / parts_in_one;
    part_ %= parts_in_one;
    limit();
}

void Quantity::ten_times() noexcept {
    part_ *= 10;
    whole_ = whole_ > most / 10 ? most + 1 : whole_ * 10 + part_ / parts_in_one;
    part_ %= parts_in_one;
    limit();
}

void Quantity::tenth() noexcept {
    part_ = part_ / 10 + whole_ % 10 * (parts_in_one / 10);
    whole_ /= 10;
}

Quantity Quantity::decimal(std::string_view whole, std::string_view behind) noexcept {
    Quantity made;
    for (const char digit : whole) {
        made.ten_times();
        made.whole_ = std::min(made.whole_ + value_of(digit), most);
    }
    for (std::size_t at = 0; at < part_digits; ++at) {
        made.part_ = made.part_ * 10 + (at < behind.size() ? value_of(behind[at]) : 0);
    }
    return made;
}

Result<Quantity> Quantity::parse(std::string_view text) {
    auto rest = text;
    rest.remove_prefix(!rest.empty() && rest.front() == '+' ? 1 : 0);
    const auto whole = take_digits(rest);
    std::string_view behind;
    if (!rest.empty() && rest.front() == '.') {
        rest.remove_prefix(1);
        behind = take_digits(rest);
    }
    const auto scale = scale_of(rest);
    if ((whole.empty() && behind.empty()) || !scale) {
        return fail(Errc::invalid, expectation(text));
    }
    auto made = decimal(whole, behind);
    for (unsigned i = 0; i < scale->twos; ++i) {
        made.twice();
    }
    for (int i = 0; i < scale->tens; ++i) {
        made.ten_times();
    }
    for (int i = 0; i > scale->tens; --i) {
        made.tenth();
    }
    return made;
}

}  // namespace scout::migration
