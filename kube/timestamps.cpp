// SPDX-License-Identifier: Apache-2.0
#include "kube/timestamps.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

namespace scout::kube {
namespace {

using namespace std::chrono;

/// Reads the fixed parts of a text from its front; once a part is wrong, all is wrong.
class Cursor {
public:
    explicit Cursor(std::string_view text) noexcept : text_(text) {}

    int digits(std::size_t count, int least, int most) noexcept {
        int value = 0;
        const auto part = text_.substr(0, count);
        for (const char c : part) {
            good_ = good_ && c >= '0' && c <= '9';
            value = value * 10 + (good_ ? c - '0' : 0);
        }
        good_ = good_ && part.size() == count && value >= least && value <= most;
        text_.remove_prefix(part.size());
        return value;
    }
    void expect(std::string_view letters) noexcept {
        good_ = good_ && !text_.empty() && letters.find(text_.front()) != std::string_view::npos;
        text_.remove_prefix(text_.empty() ? 0 : 1);
    }
    /// Digits behind a dot, as milliseconds.
    milliseconds fraction() noexcept {
        if (text_.empty() || text_.front() != '.') {
            return milliseconds{0};
        }
        text_.remove_prefix(1);
        int value = 0;
        std::size_t count = 0;
        for (; count < text_.size() && text_[count] >= '0' && text_[count] <= '9'; ++count) {
            value = count < 3 ? value * 10 + (text_[count] - '0') : value;
        }
        good_ = good_ && count > 0;
        for (std::size_t missing = count; missing < 3; ++missing) {
            value *= 10;
        }
        text_.remove_prefix(count);
        return milliseconds{value};
    }
    minutes offset() noexcept {
        if (!text_.empty() && (text_.front() == 'Z' || text_.front() == 'z')) {
            text_.remove_prefix(1);
            return minutes{0};
        }
        const bool west = !text_.empty() && text_.front() == '-';
        expect("+-");
        const minutes hour_part = hours{digits(2, 0, 23)};
        expect(":");
        const minutes sum = hour_part + minutes{digits(2, 0, 59)};
        return west ? -sum : sum;
    }
    [[nodiscard]] bool ended_well() const noexcept { return good_ && text_.empty(); }

private:
    std::string_view text_;
    bool good_ = true;
};

}  // namespace

std::string micro_time(WallTime time) {
    const auto second = floor<seconds>(time);
    const auto rest = duration_cast<microseconds>(time - second);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", second, rest.count());
}

std::optional<WallTime> parse_time(std::string_view text) noexcept {
    Cursor cursor{text};
    const year y{cursor.digits(4, 1970, 9999)};
    cursor.expect("-");
    const month m{static_cast<unsigned>(cursor.digits(2, 1, 12))};
    cursor.expect("-");
    const day d{static_cast<unsigned>(cursor.digits(2, 1, 31))};
    cursor.expect("Tt ");
    const hours hour_part{cursor.digits(2, 0, 23)};
    cursor.expect(":");
    const minutes minute_part{cursor.digits(2, 0, 59)};
    cursor.expect(":");
    const seconds second_part{cursor.digits(2, 0, 60)};
    const auto fraction = cursor.fraction();
    const auto offset = cursor.offset();
    const year_month_day date{y, m, d};
    if (!cursor.ended_well() || !date.ok()) {
        return std::nullopt;
    }
    return WallTime{sys_days{date} + hour_part + minute_part + second_part + fraction - offset};
}

}  // namespace scout::kube
