// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/convergence.h"
#include "migration/escalation.h"
#include "migration/evacuation_outlook.h"
#include "migration/eviction.h"
#include "migration/eviction_thresholds.h"

/// Whether a VM that runs well would be moved if its node told its launcher to stop now: what is
/// decided then (migration/evacuation.h), asked beforehand. Pure; any thread; nothing here fails.
namespace scout::migration {

enum class ProtectionVerdict : std::uint8_t {
    guarded,         ///< "protected": it would be moved
    too_big,         ///< a move would not end in time
    not_migratable,  ///< KubeVirt says so, or it cannot be any more once its launcher stops
    strategy,        ///< by its eviction strategy KubeVirt does not move it
    no_hook,         ///< nobody is asked before its guest is stopped
    unknown,         ///< something that decides is not known
};
[[nodiscard]] std::string_view to_string(ProtectionVerdict verdict) noexcept;  // "too-big", …
/// Unknown for any other word.
[[nodiscard]] ProtectionVerdict protection_verdict_named(std::string_view word) noexcept;
inline constexpr std::size_t protection_verdicts = 6;

/// What the kubelet of a node gives a pod in its own right, whatever the pod's own time is.
struct KubeletGraces {
    /// evictionMaxPodGracePeriod; none: it has no soft threshold, and evicts at hard ones alone.
    std::optional<std::chrono::seconds> soft;
    /// When its node shuts down; none: it does not wait for pods.
    std::optional<std::chrono::seconds> shutdown;
    /// virt-handler stops with them then (handler_stops_with_vms()): nothing is moved in that time.
    bool handler_stops = false;
    /// Of what no soft threshold warns: too little of it ends a pod at once.
    std::vector<PressureSignal> hard_alone = {};

    friend bool operator==(const KubeletGraces&, const KubeletGraces&) = default;
};

/// The most that it gives a pod with that grace to be moved in, of what it does at a soft
/// threshold, at a hard one (a second) and at a shutdown.
[[nodiscard]] std::chrono::seconds longest_grace(const KubeletGraces& kubelet,
                                                 std::chrono::seconds pod_grace) noexcept;

struct ProtectionFacts {
    EvictionStrategy strategy = EvictionStrategy::none;
    bool strategy_known = true;  ///< false: the cluster's word would count, and is not known
    std::string strategy_said;  ///< the word that counts, of VMI or cluster; empty: neither has one
    std::optional<bool> migratable;  ///< when its launcher stops; none: KubeVirt has not said
    std::string not_migratable;      ///< why not
    std::string no_hook;  ///< why nobody is asked before its guest is stopped; empty: an agent is
    std::string missing;  ///< what decides about that and is not known; empty: nothing
    MoveSubject subject;  ///< memory 0: not known
    std::string escalation_refused;  ///< why it is not escalated after all; empty: it is
    std::string copied;  ///< what is to be said of disks that a move copies; empty: nothing
    std::optional<KubeletGraces> kubelet;  ///< none: nobody told
    /// That its next launcher will have, as somebody has asked for already; none: nobody has.
    std::optional<std::chrono::seconds> next_grace;
    std::chrono::milliseconds reserve{10'000};  ///< for the guest's own shutdown
};

struct ProtectionAnswer {
    ProtectionVerdict verdict = ProtectionVerdict::unknown;
    StopBudget budget;                          ///< from SIGTERM on
    std::optional<MigrationForecast> forecast;  ///< none: its memory is not known
    /// How long its launcher would have to wait for the move and the guest's own shutdown, by the
    /// expected course or, where that does not end, the optimistic one. None: it would not help, or
    /// there is no forecast.
    std::optional<std::chrono::seconds> needed;
    /// What a move of it would end in time by that does not by its policy; none: nothing does, or
    /// it is not needed.
    std::optional<EscalatedMove> escalated;
    std::string why;  ///< one sentence

    /// Of the budget, what a move of it cannot have: the guest's reserve, and what aborting a move
    /// that does not end would take.
    std::chrono::milliseconds kept{0};

    /// How long the move of one that is guarded takes, by what it is begun for.
    [[nodiscard]] std::chrono::milliseconds duration() const noexcept {
        return escalated  ? escalated->duration
               : forecast ? forecast->optimistic.duration
                          : std::chrono::milliseconds{0};
    }
    /// Until a move of it must have ended.
    [[nodiscard]] std::chrono::milliseconds left() const noexcept { return budget.ends - kept; }
};

/// What keeps the VM itself from being moved comes before what is amiss around it; time is looked
/// at last. As when it is decided in earnest, a move that ends in time by the optimistic course is
/// begun, and one that does by what its escalation allows.
[[nodiscard]] ProtectionAnswer judge_protection(const ProtectionFacts& facts,
                                                const MoveAssumptions& assumed);

}  // namespace scout::migration
