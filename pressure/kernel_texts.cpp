// SPDX-License-Identifier: Apache-2.0
#include "pressure/kernel_texts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "base/logging.h"
#include "base/number.h"

namespace scout::pressure {
namespace {

constexpr std::string_view blank = " \t\r\n";
constexpr std::size_t shown_limit = 60;
/// cgroup v1 has no word for "no limit", but a number of pages near to the largest there is.
constexpr std::uint64_t no_limit = std::uint64_t{1} << 62U;

std::string_view trimmed(std::string_view text) {
    const auto first = std::min(text.find_first_not_of(blank), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(blank) + 1);
}

/// What stands before the mark, which is taken off the text together with it.
std::string_view take_until(std::string_view& text, std::string_view marks) {
    const auto end = std::min(text.find_first_of(marks), text.size());
    const auto taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

std::string_view take_line(std::string_view& text) {
    return take_until(text, "\n");
}

std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    return take_until(line, blank);
}

std::string shown(std::string_view text) {
    return "found '" + log_value(text.substr(0, shown_limit)) + "'";
}

std::uint64_t bytes_of_kib(std::uint64_t kib) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max() / 1024;
    return std::min(kib, most) * 1024;
}

/// "avg10=1.23", in percent, of the words of a line.
std::optional<double> average(std::string_view line) {
    constexpr std::string_view key = "avg10=";
    while (!line.empty()) {
        auto word = take_word(line);
        if (!word.starts_with(key)) {
            continue;
        }
        word.remove_prefix(key.size());
        double value = 0;
        const auto* const last = word.data() + word.size();
        const auto [end, error] =
            std::from_chars(word.data(), last, value, std::chars_format::fixed);
        const bool good = error == std::errc{} && end == last && value >= 0 && value <= 100;
        return good ? std::optional{value / 100} : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text) {
    const auto value = whole_number(trimmed(text));
    if (!value) {
        return fail(Errc::invalid, "expected a number, " + shown(trimmed(text)));
    }
    return *value;
}

Result<std::optional<std::uint64_t>> parse_limit(std::string_view text) {
    if (trimmed(text) == "max") {
        return std::nullopt;
    }
    return parse_number(text).map(
        [](std::uint64_t value) { return value < no_limit ? std::optional{value} : std::nullopt; });
}

Result<std::uint64_t> parse_stat(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        auto line = take_line(text);
        if (take_word(line) == key) {
            auto value = parse_number(line);
            return value ? value : fail(std::move(value.error()).within(key));
        }
    }
    return fail(Errc::invalid, "expected a line '" + std::string{key} + " NUMBER', found none");
}

Result<MemInfo> parse_meminfo(std::string_view text) {
    MemInfo info;
    bool found = false;
    while (!text.empty()) {
        auto line = take_line(text);
        const auto key = take_word(line);
        auto* const field = key == "MemTotal:"    ? &info.total
                            : key == "SwapTotal:" ? &info.swap_total
                            : key == "SwapFree:"  ? &info.swap_free
                                                  : nullptr;
        if (field == nullptr) {
            continue;
        }
        const auto value = parse_number(take_word(line));
        if (!value) {
            return fail(Error{value.error()}.within(key));
        }
        *field = bytes_of_kib(*value);
        found = found || field == &info.total;
    }
    if (!found || info.total == 0) {
        return fail(Errc::invalid, "expected a line 'MemTotal: NUMBER kB', found none");
    }
    return info;
}

Result<Stall> parse_stall(std::string_view text) {
    Stall stall;
    bool found = false;
    while (!text.empty()) {
        auto line = take_line(text);
        const auto kind = take_word(line);
        if (kind != "some" && kind != "full") {
            continue;
        }
        const auto value = average(line);
        if (!value) {
            return fail(Errc::invalid,
                        "expected '" + std::string{kind} + " avg10=PERCENT …', " + shown(line));
        }
        (kind == "some" ? stall.some : stall.full) = *value;
        found = found || kind == "some";
    }
    if (!found) {
        return fail(Errc::invalid, "expected a line 'some avg10=PERCENT …', found none");
    }
    return stall;
}

Result<std::uint64_t> parse_task_count(std::string_view loadavg) {
    auto rest = loadavg;
    for (int field = 0; field < 3; ++field) {
        take_word(rest);
    }
    auto tasks = take_word(rest);
    take_until(tasks, "/");
    const auto count = whole_number(tasks);
    if (!count) {
        return fail(Errc::invalid,
                    "expected three averages and RUNNING/ALL tasks, " + shown(trimmed(loadavg)));
    }
    return *count;
}

}  // namespace scout::pressure
