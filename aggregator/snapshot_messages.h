// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "aggregator/registry.h"
#include "base/clock.h"
#include "base/result.h"

namespace virt_scout::v1 {
class Snapshot;
}

/// The fleet as one file: a line with format, version and SHA-256 of the rest, then a
/// virt_scout.v1.Snapshot. Pure.
namespace scout::aggregator {

/// Largest snapshot that is read: 256 MiB. 5,000 nodes with 20 guests each are about 12 MiB.
inline constexpr std::size_t snapshot_limit = std::size_t{256} << 20U;

/// Writes down all nodes whose agents reported, for documents are read again at each start: some in
/// each turn, so that a loop can do in between what else it has to. A node is written as it is at
/// its turn. Message after message: the text of a message with many entries is that of one entry
/// after the other, so that no second copy of the fleet is ever in memory.
class SnapshotEncoder {
public:
    /// `registry` must outlive it, and may change between turns.
    SnapshotEncoder(const Registry& registry, WallTime wall);

    /// True: these were the last ones.
    [[nodiscard]] bool turn(SteadyTime now);
    /// The payload, once the last turn is over.
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    static constexpr int nodes_per_turn = 100;

    void add(const Node& node, SteadyTime now);
    [[nodiscard]] std::string add(const SharedProfile& profile);
    [[nodiscard]] std::uint32_t add(const SharedCpu& cpu);

    const Registry& registry_;
    std::string last_;  ///< name of the node that was written last
    std::string text_;
    // Held, so that no other one comes to lie at the address of one that was written.
    std::unordered_set<SharedProfile> profiles_;
    std::unordered_map<SharedCpu, std::uint32_t> cpus_;
};

/// The file's text of a payload. Its checksum is the longest part of the work.
[[nodiscard]] std::string seal_snapshot(std::string payload);

/// Both, in one go.
[[nodiscard]] std::string encode_snapshot(const Registry& registry, WallTime wall, SteadyTime now);

/// Errc::invalid says what is wrong: not a snapshot, another version, checksum, content.
[[nodiscard]] Result<virt_scout::v1::Snapshot> decode_snapshot(std::string_view text);

/// Behind the checksum; for fuzzing.
[[nodiscard]] Result<virt_scout::v1::Snapshot> decode_payload(std::string_view payload);

/// Puts the nodes into the registry, all or none. A node is as old as it was then plus what the
/// wall clock says has passed since, never less: a clock that was set back makes nothing younger.
/// Errc::invalid for content that no aggregator writes.
[[nodiscard]] Status restore_snapshot(const virt_scout::v1::Snapshot& snapshot, WallTime wall,
                                      SteadyTime now, Registry& registry);
/// The same from a file's text.
[[nodiscard]] Status restore_snapshot(std::string_view text, WallTime wall, SteadyTime now,
                                      Registry& registry);

}  // namespace scout::aggregator
