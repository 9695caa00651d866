// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <prometheus/collectable.h>

#include "base/clock.h"
#include "base/result.h"

namespace scout::daemon {

/// What the kernel says of this process.
struct ProcessFacts {
    std::uint64_t resident_bytes = 0;
    double cpu_seconds = 0;  ///< user and system, all threads
    std::uint64_t open_files = 0;
};

/// From /proc/self and getrusage. Any thread.
[[nodiscard]] ProcessFacts read_process_facts();

/// `process_resident_memory_bytes`, `process_cpu_seconds_total`, `process_start_time_seconds`,
/// `process_open_fds` and `virt_scout_build_info{version,commit}`; read when asked. Any thread.
class ProcessMetrics final : public prometheus::Collectable {
public:
    /// `started`: wall time of the start, as the metric tells it.
    explicit ProcessMetrics(WallTime started);

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

private:
    WallTime started_;
};

}  // namespace scout::daemon
