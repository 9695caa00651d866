// SPDX-License-Identifier: Apache-2.0
#include "kube/rate_limit.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace scout::kube {

RateLimit::RateLimit(RateLimitConfig config, SteadyTime now)
    : normal_{config.per_second, config.burst, config.burst, now},
      urgent_{config.urgent_per_second, config.urgent_burst, config.urgent_burst, now} {}

Result<std::chrono::milliseconds> RateLimit::reserve(Urgency urgency, SteadyTime now,
                                                     std::chrono::milliseconds longest) {
    auto& bucket = urgency == Urgency::urgent ? urgent_ : normal_;
    const std::chrono::duration<double> passed = now - bucket.filled;
    bucket.tokens = std::min(bucket.burst, bucket.tokens + passed.count() * bucket.per_second);
    bucket.filled = now;
    const double missing = std::max(0.0, 1.0 - bucket.tokens);
    const std::chrono::milliseconds wait{
        static_cast<std::int64_t>(std::ceil(missing / bucket.per_second * 1000.0))};
    if (wait > longest) {
        return fail(Errc::timed_out,
                    "too many calls wait already for the client-side rate limit: "
                    "this one's turn comes in " +
                        std::to_string(wait.count()) + " ms, expected at most " +
                        std::to_string(longest.count()) + " ms");
    }
    bucket.tokens -= 1.0;
    return wait;
}

}  // namespace scout::kube
