// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

#include <algorithm>

namespace scout {

Backoff::Backoff(std::uint64_t seed, BackoffRange range)
    : range_(range), ceiling_(range.least), random_(seed) {}

std::chrono::milliseconds Backoff::next() {
    ceiling_ = std::min(range_.most, ceiling_ * 2);
    std::uniform_int_distribution<std::int64_t> wait(ceiling_.count() / 2, ceiling_.count());
    return std::chrono::milliseconds{wait(random_)};
}

std::chrono::milliseconds jittered(std::chrono::milliseconds interval, double share,
                                   std::mt19937_64& random) {
    const auto spread = static_cast<std::int64_t>(static_cast<double>(interval.count()) * share);
    std::uniform_int_distribution<std::int64_t> wait(interval.count() - spread,
                                                     interval.count() + spread);
    return std::chrono::milliseconds{wait(random)};
}

}  // namespace scout
