// SPDX-License-Identifier: Apache-2.0
#include "base/go_duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include "base/logging.h"

namespace scout {
namespace {

struct Unit {
    std::string_view name;
    double ms;
};
constexpr std::array<Unit, 8> units{{{"ns", 1e-6},
                                     {"us", 1e-3},
                                     {"µs", 1e-3},  // U+00B5
                                     {"μs", 1e-3},  // U+03BC
                                     {"ms", 1},
                                     {"s", 1000},
                                     {"m", 60'000},
                                     {"h", 3'600'000}}};
constexpr double longest_ms = 3650.0 * 86'400'000;

/// One number with its unit, in milliseconds; takes it from the text.
std::optional<double> take_part(std::string_view& text) {
    const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + digits) {
        return std::nullopt;
    }
    text.remove_prefix(digits);
    const auto letters = std::min(text.find_first_of("0123456789."), text.size());
    const auto* const unit = std::find_if(
        units.begin(), units.end(),
        [name = text.substr(0, letters)](const Unit& one) { return one.name == name; });
    if (unit == units.end()) {
        return std::nullopt;
    }
    text.remove_prefix(letters);
    return number * unit->ms;
}

}  // namespace

Result<std::chrono::milliseconds> parse_go_duration(std::string_view text) {
    const auto wrong = [found = text] {
        return fail(Errc::invalid,
                    "expected a duration of at most ten years such as 90s, 1m30s or 1.5h, found " +
                        log_value(found));
    };
    if (text == "0") {
        return std::chrono::milliseconds{0};
    }
    if (text.empty()) {
        return wrong();
    }
    double sum = 0;
    while (!text.empty()) {
        const auto part = take_part(text);
        if (!part) {
            return wrong();
        }
        sum += *part;
    }
    if (!(sum <= longest_ms)) {
        return wrong();
    }
    return std::chrono::milliseconds{static_cast<std::int64_t>(sum)};
}

}  // namespace scout
