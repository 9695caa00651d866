// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace scout {

struct BackoffRange {
    std::chrono::milliseconds least = std::chrono::seconds{1};
    std::chrono::milliseconds most = std::chrono::seconds{60};
};

/// Exponential back-off with jitter: the n-th wait is drawn from [d/2, d] with d = 2ⁿ⁺¹ × least, at
/// most `most`. So the first wait already spreads a fleet over [least, 2 × least]. Pure.
class Backoff {
public:
    explicit Backoff(std::uint64_t seed, BackoffRange range = {});

    [[nodiscard]] std::chrono::milliseconds next();
    /// After a success.
    void reset() noexcept { ceiling_ = range_.least; }

private:
    BackoffRange range_;
    std::chrono::milliseconds ceiling_;
    std::mt19937_64 random_;
};

/// Uniform in [(1 − share) × interval, (1 + share) × interval]; share in 0..1.
[[nodiscard]] std::chrono::milliseconds jittered(std::chrono::milliseconds interval, double share,
                                                 std::mt19937_64& random);

}  // namespace scout
