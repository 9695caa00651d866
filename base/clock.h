// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace scout {

using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// Both clocks, so that tests can own time. Ages are counted on the steady clock; the wall clock
/// is for people and for files only, and may jump.
class Clock {
public:
    Clock() = default;
    virtual ~Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    Clock(Clock&&) = delete;
    Clock& operator=(Clock&&) = delete;

    [[nodiscard]] virtual SteadyTime steady() const = 0;
    [[nodiscard]] virtual WallTime wall() const = 0;
};

/// The machine's clocks. Any thread.
class SystemClock final : public Clock {
public:
    [[nodiscard]] SteadyTime steady() const override;
    [[nodiscard]] WallTime wall() const override;
};

/// "2026-11-27T23:06:39Z"
[[nodiscard]] std::string rfc3339(WallTime time);

}  // namespace scout
