// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/logging.h"

namespace scout {
namespace {

using std::chrono::milliseconds;

struct Unit {
    std::string_view name;
    std::int64_t ms;
};
// Longest first, as format_duration() takes the first that divides.
constexpr std::array<Unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// Ten years: more is a mistake, and far from any overflow.
constexpr std::int64_t longest_ms = std::int64_t{3650} * 86'400'000;

tl::unexpected<Error> wrong(const std::string& expected, std::string_view found) {
    return fail(Errc::invalid, "expected " + expected + ", found " + log_value(found));
}

}  // namespace

Result<milliseconds> parse_duration(std::string_view text) {
    const std::string expected = "a duration with its unit (ms, s, m, h, d) such as '30s'";
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || count < 0) {
        return wrong(expected, text);
    }
    const auto name = text.substr(static_cast<std::size_t>(end - text.data()));
    const auto* unit = std::find_if(units.begin(), units.end(),
                                    [name](const Unit& known) { return known.name == name; });
    if (unit == units.end()) {
        return wrong(expected, text);
    }
    if (count > longest_ms / unit->ms) {
        return wrong("a duration of at most ten years", text);
    }
    return milliseconds{count * unit->ms};
}

std::string format_duration(milliseconds time) {
    const auto* unit = std::find_if(units.begin(), units.end(), [time](const Unit& candidate) {
        return time.count() != 0 && time.count() % candidate.ms == 0;
    });
    if (unit == units.end()) {
        return "0s";
    }
    return std::to_string(time.count() / unit->ms) + std::string{unit->name};
}

std::string age_text(milliseconds age) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(age).count();
    if (seconds < 120) {
        return std::to_string(seconds) + " s";
    }
    if (seconds < 7200) {
        return std::to_string(seconds / 60) + " min";
    }
    if (seconds < 172'800) {
        return std::to_string(seconds / 3600) + " h";
    }
    return std::to_string(seconds / 86'400) + " d";
}

}  // namespace scout
