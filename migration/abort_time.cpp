// SPDX-License-Identifier: Apache-2.0
#include "migration/abort_time.h"

#include <algorithm>

namespace scout::migration {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds each_gib{20};
constexpr std::int64_t common_gib = 64;
constexpr unsigned gib_bits = 30;

}  // namespace

milliseconds abort_time(const AbortSubject& subject) noexcept {
    const auto gib = static_cast<std::int64_t>(subject.memory >> gib_bits);
    const auto more = std::max<std::int64_t>(0, gib - common_gib);
    const auto planned = (subject.emulated ? emulated_abort : quick_abort) +
                         std::min(each_gib * more, longest_abort);
    const auto seen = std::min(subject.seen, longest_abort);
    return std::clamp(std::max(planned, seen + seen / 4), quick_abort, longest_abort);
}

void AbortTimes::add(milliseconds took, SteadyTime now) {
    seen_.push_back({.at = now, .took = took});
    if (seen_.size() > most) {
        seen_.pop_front();
    }
}

milliseconds AbortTimes::slowest(SteadyTime now) const noexcept {
    milliseconds slowest{0};
    for (const auto& one : seen_) {
        if (now - one.at <= counts_for) {
            slowest = std::max(slowest, one.took);
        }
    }
    return slowest;
}

}  // namespace scout::migration
