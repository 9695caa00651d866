// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/result.h"

/// What single pods take of the kubelet's filesystem.
namespace scout::pressure {

struct PodStorage {
    std::uint64_t bytes = 0;  ///< of the blocks that are allocated
    std::uint64_t inodes = 0;

    friend bool operator==(const PodStorage&, const PodStorage&) = default;
};

/// So many files and folders of one pod are counted, and so many levels of folders.
inline constexpr std::size_t most_pod_entries = 10'000;
inline constexpr unsigned most_pod_levels = 32;

/// The emptyDir volumes of a pod below the kubelet's folder of pods, counted as the kubelet counts
/// them without quotas: links are not followed, what has several hard links counts once in its
/// volume, and other filesystems, as the tmpfs of volumes in memory, do not count. What vanishes
/// meanwhile is passed over; a pod without such volumes has nothing.
///
/// The kubelet adds the logs of the containers and, where images have no filesystem of their own,
/// their writable layers. Those lie where the container runtime has them, which an agent is not
/// shown; a launcher writes little there.
///
/// Any thread; blocking: a stat for each entry, which `entries_left` counts down, so that many pods
/// can be read with one bound for all. Errors: not_found (no such pod); invalid (no UID, more
/// entries or levels than are counted: how much it takes is not known then); unavailable.
[[nodiscard]] Result<PodStorage> read_pod_storage(const std::filesystem::path& pods,
                                                  std::string_view pod_uid,
                                                  std::size_t& entries_left);

}  // namespace scout::pressure
