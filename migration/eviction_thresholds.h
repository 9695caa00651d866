// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "migration/quantity.h"

/// When a kubelet begins to evict pods (dossier §12.1; kubelet's configuration, "Node-pressure
/// eviction" of the Kubernetes documentation). Pure; any thread.
namespace scout::migration {

/// Of what too little is left.
enum class PressureSignal : std::uint8_t {
    memory_available,
    allocatable_memory_available,  ///< of what all pods together may take
    nodefs_available,
    nodefs_inodes_free,
    imagefs_available,
    imagefs_inodes_free,
    containerfs_available,
    containerfs_inodes_free,
    pid_available,
};
/// kubelet's word: "memory.available", "allocatableMemory.available", …
[[nodiscard]] std::string_view to_string(PressureSignal signal) noexcept;
[[nodiscard]] std::optional<PressureSignal> signal_named(std::string_view word) noexcept;
/// Of bytes or inodes of one of the filesystems.
[[nodiscard]] bool is_of_filesystem(PressureSignal signal) noexcept;

/// Bytes, inodes or process numbers, or a share of what there is of them; of both the greater one.
struct ThresholdValue {
    std::optional<Quantity> amount;
    double share = 0;  ///< 0 to 1

    /// Where it lies if there is so much in all.
    [[nodiscard]] std::uint64_t of(std::uint64_t capacity) const noexcept;

    friend bool operator==(const ThresholdValue&, const ThresholdValue&) = default;
};

struct EvictionThreshold {
    PressureSignal signal{};
    ThresholdValue value;
    /// None: a hard one, that acts at once and gives pods a second. Else a soft one, that acts when
    /// it was passed for so long; more than nothing.
    std::optional<std::chrono::milliseconds> soft_grace;
    /// Once it acted, so much more than the threshold must be left until it counts as over: a soft
    /// one whose time was not up is over as soon as it is not passed.
    std::optional<ThresholdValue> minimum_reclaim;

    friend bool operator==(const EvictionThreshold&, const EvictionThreshold&) = default;
};

/// The fields of a KubeletConfiguration as they stand in it; none: the field is not there.
struct KubeletEvictionFields {
    using Texts = std::map<std::string, std::string, std::less<>>;
    std::optional<Texts> hard;                  ///< evictionHard
    Texts soft;                                 ///< evictionSoft
    Texts soft_grace;                           ///< evictionSoftGracePeriod
    Texts minimum_reclaim;                      ///< evictionMinimumReclaim
    std::optional<std::int64_t> max_pod_grace;  ///< evictionMaxPodGracePeriod, in seconds
    bool merge_defaults = false;                ///< mergeDefaultEvictionSettings
    /// enforceNodeAllocatable; none: "pods".
    std::optional<std::vector<std::string>> enforced;
};

struct KubeletEviction {
    /// In the order of signals, hard ones first; of one signal one of each kind at most.
    std::vector<EvictionThreshold> thresholds;
    /// What a pod is given at most at a soft threshold.
    std::chrono::seconds max_pod_grace{0};

    friend bool operator==(const KubeletEviction&, const KubeletEviction&) = default;
};

/// What evictionHard is where nobody sets it.
[[nodiscard]] const KubeletEvictionFields::Texts& default_hard_thresholds();

/// As kubelet reads them: a hard threshold that is set takes the place of all defaults, unless they
/// are to be merged; 0 % and 100 % switch one off; a soft one without a time is a hard one; where
/// pods are held to what is allocatable, a hard one of memory is in force for that too. Errors:
/// invalid, naming the field; kubelet does not start with such a configuration.
[[nodiscard]] Result<KubeletEviction> kubelet_eviction(const KubeletEvictionFields& fields);

/// What the kubelet gives a pod that it evicts for passing this threshold.
[[nodiscard]] std::chrono::seconds eviction_grace(const EvictionThreshold& passed,
                                                  const KubeletEviction& kubelet,
                                                  std::chrono::seconds pod_grace) noexcept;

}  // namespace scout::migration
