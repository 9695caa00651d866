// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "aggregator/fleet.h"
#include "base/file_lock.h"
#include "base/offload.h"
#include "base/task.h"

namespace scout::aggregator {

struct SnapshotCounters {
    std::uint64_t written = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;  ///< of the last one
};

/// Brings the fleet back at the start and writes it down while it changes. Loop thread; files are
/// read and written on the pool.
///
/// A file that cannot be used is set aside; where that is impossible it is left as it is, and no
/// snapshot is written in this run. Nothing here stops the aggregator but a second one on the same
/// file: a disk that fails is told and counted.
class SnapshotKeeper {
public:
    SnapshotKeeper(std::filesystem::path path, std::chrono::milliseconds every, Fleet& fleet,
                   BlockingPool& pool);

    /// Once, before anything else is in the registry but documents. Errc::refused, with its process
    /// id, while another aggregator keeps this file: "<name>.lock" is held until the end.
    [[nodiscard]] Task<Status> load();
    /// Until cancelled. Changes are written after `every`; mere heartbeats, which only make ages
    /// right, ten times more seldom.
    [[nodiscard]] Task<> keep();
    /// The fleet as it is now. Ends within the limit, whatever the disk does.
    [[nodiscard]] Task<> write(std::chrono::milliseconds limit);

    [[nodiscard]] const SnapshotCounters& counters() const noexcept { return counters_; }

private:
    class Writer;
    static constexpr int idle_rounds = 10;

    [[nodiscard]] Task<Status> lock();
    [[nodiscard]] Task<> read();
    [[nodiscard]] Task<> put_away(Error why);
    void keep_nothing(const Error& why);

    std::filesystem::path path_;
    std::chrono::milliseconds every_;
    Fleet& fleet_;
    BlockingPool& pool_;
    std::optional<FileLock> lock_;
    std::shared_ptr<Writer> writer_;
    bool writes_ = true;
    bool changed_ = false;
    bool failing_ = false;  ///< the last write failed, which was told
    SnapshotCounters counters_;
};

}  // namespace scout::aggregator
