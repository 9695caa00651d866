// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

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

/// All nodes whose agents reported; documents are read again at each start.
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
