// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

/// What stock KubeVirt does when a launcher's pod is to go, and how much time there is (dossier
/// §3.2, §4, §12). Pure; any thread; nothing here fails.
namespace scout::migration {

enum class EvictionStrategy : std::uint8_t {
    none,
    live_migrate,
    live_migrate_if_possible,
    external,  ///< KubeVirt marks, somebody else moves
};
[[nodiscard]] std::string_view to_string(EvictionStrategy strategy) noexcept;  // "LiveMigrate", …

/// KubeVirt's word for it; none for any other.
[[nodiscard]] std::optional<EvictionStrategy> strategy_named(std::string_view word) noexcept;

/// The VMI's own, else that of the KubeVirt object, else none (dossier §4.4). A word that nobody
/// knows counts as none: nothing is moved for its sake.
[[nodiscard]] EvictionStrategy effective_strategy(std::string_view vmi,
                                                  std::string_view kubevirt) noexcept;

/// What KubeVirt's webhook answers to an eviction of a running launcher (dossier §4.1, case 18).
enum class EvictionOutcome : std::uint8_t {
    evicted,  ///< the pod is really deleted, and the guest with it
    refused,  ///< neither deleted nor moved: a drain waits for it
    marked,   ///< refused, and the VMI is marked to be moved
};
/// `migratable`: the condition LiveMigratable is True.
[[nodiscard]] EvictionOutcome eviction_outcome(EvictionStrategy strategy, bool migratable) noexcept;

/// How long KubeVirt waits before it tries an evacuation again that failed so many times in a row,
/// at least once: 20 s, and twice as long each further time. It has no cap of its own (dossier
/// §6.5).
[[nodiscard]] std::chrono::seconds evacuation_back_off(unsigned failures) noexcept;

/// What is to become of the VM of a launcher that was told to stop though nobody deleted the VMI
/// (the proposal's table).
enum class WantedMove : std::uint8_t {
    none,      ///< let it stop
    move,      ///< by KubeVirt
    announce,  ///< mark it and hold its stop; somebody else moves it
};
[[nodiscard]] WantedMove wanted_move(EvictionStrategy strategy, bool migratable) noexcept;

/// What a launcher waits beyond its VM's grace before it kills the guest, and what its pod is given
/// beyond that grace, both as KubeVirt makes launchers (dossier §3.2).
inline constexpr std::chrono::seconds launcher_patience{15};
inline constexpr std::chrono::seconds pod_patience{30};

/// What the time until a launcher's guest is killed depends on. Each is counted from SIGTERM.
struct StopTimes {
    std::chrono::seconds vmi_grace{30};  ///< spec.terminationGracePeriodSeconds of the VMI
    /// `--grace-period-seconds` of the launcher as its pod has it, where it was read.
    std::optional<std::chrono::seconds> launcher_grace;
    std::optional<std::chrono::seconds> pod_grace;       ///< spec.terminationGracePeriodSeconds
    std::optional<std::chrono::seconds> deletion_grace;  ///< of a pod that the API deletes
    /// What the kubelet gives in its own right: one second at a hard threshold, the lesser of
    /// evictionMaxPodGracePeriod and the pod's at a soft one, a share of its time when the node
    /// shuts down.
    std::optional<std::chrono::seconds> kubelet_grace;
};

enum class StopLimit : std::uint8_t { launcher, pod, deletion, kubelet };
[[nodiscard]] std::string_view to_string(StopLimit limit) noexcept;  // "launcher", …

struct StopBudget {
    std::chrono::seconds ends{0};           ///< the guest is killed then
    StopLimit limit = StopLimit::launcher;  ///< by whom

    friend bool operator==(const StopBudget&, const StopBudget&) = default;
};

/// The launcher kills its guest 15 s after the VMI's grace, also in the middle of a migration; the
/// pod's grace is 15 s longer still (dossier §3.2). What comes first counts.
[[nodiscard]] StopBudget stop_budget(const StopTimes& times) noexcept;

}  // namespace scout::migration
