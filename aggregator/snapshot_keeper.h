// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "aggregator/fleet.h"
#include "base/offload.h"
#include "base/task.h"

namespace scout::aggregator {

struct SnapshotCounters {
    std::uint64_t written = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;  ///< of the last one
};

/// Brings the fleet back at the start and writes it down while it changes. Loop thread; files are
/// read and written on the pool. Nothing here stops the aggregator: a disk that fails is told and
/// counted.
class SnapshotKeeper {
public:
    SnapshotKeeper(std::filesystem::path path, std::chrono::milliseconds every, Fleet& fleet,
                   BlockingPool& pool);

    /// Once, before anything else is in the registry but documents.
    [[nodiscard]] Task<> load();
    /// Until cancelled. Changes are written after `every`; mere heartbeats, which only make ages
    /// right, ten times more seldom.
    [[nodiscard]] Task<> keep();
    [[nodiscard]] Task<> write();

    [[nodiscard]] const SnapshotCounters& counters() const noexcept { return counters_; }

private:
    static constexpr int idle_rounds = 10;

    std::filesystem::path path_;
    std::chrono::milliseconds every_;
    Fleet& fleet_;
    BlockingPool& pool_;
    bool changed_ = false;
    SnapshotCounters counters_;
};

}  // namespace scout::aggregator
