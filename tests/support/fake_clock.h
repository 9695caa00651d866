// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace scout::test {

/// Time of a test. Any thread; the two clocks move apart only where a test says so.
class FakeClock final : public Clock {
public:
    [[nodiscard]] SteadyTime steady() const override {
        return SteadyTime{std::chrono::hours{1000} + std::chrono::milliseconds{passed_}};
    }
    [[nodiscard]] WallTime wall() const override {
        return WallTime{std::chrono::hours{24 * 365 * 55} +
                        std::chrono::milliseconds{passed_ + wall_jump_}};
    }
    void advance(std::chrono::milliseconds time) { passed_ += time.count(); }
    void jump_wall(std::chrono::milliseconds time) { wall_jump_ += time.count(); }

private:
    std::atomic<std::int64_t> passed_{0};
    std::atomic<std::int64_t> wall_jump_{0};
};

}  // namespace scout::test
