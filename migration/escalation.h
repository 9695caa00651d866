// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "migration/convergence.h"
#include "migration/labels.h"
#include "migration/migration_policy.h"
#include "migration/migration_settings.h"

/// Letting one move use more than its policy allows, where it would not end in time without (design
/// §6): by a MigrationPolicy of its own, which copies the one in force, overrides a few fields and
/// outranks it by more matching labels (dossier §7, §16). Pure; any thread.
namespace scout::migration {

/// What may be used that the policy does not allow.
enum class Escalation : std::uint8_t {
    none,
    auto_converge,  ///< the guest is slowed down until it writes less than is copied
    post_copy,      ///< it is switched over, and the rest follows. If that breaks the guest is lost
    pause,          ///< it is stopped while the rest is copied
};
[[nodiscard]] std::string_view to_string(Escalation escalation) noexcept;  // "auto-converge", …
[[nodiscard]] std::optional<Escalation> escalation_named(std::string_view word) noexcept;

/// No later than so long for each GiB a move is switched over that would not end by itself.
inline constexpr std::chrono::seconds latest_switch{60};

/// A link that every cluster has: bytes per second.
inline constexpr std::uint64_t careful_bandwidth = 125'000'000;

/// These settings with it. `completion_per_gib` replaces theirs for post_copy and pause: they begin
/// when that is over (dossier §8), which by KubeVirt's default is after 150 s for each GiB.
[[nodiscard]] MigrationSettings escalated(MigrationSettings settings, Escalation escalation,
                                          std::chrono::seconds completion_per_gib);

/// The course by which a move with it is judged: the most hopeful one, as of all that is held. But
/// a move in post-copy that has not ended when its node kills it loses its guest, so that must end
/// by the least hopeful one, over no more than careful_bandwidth.
[[nodiscard]] MigrationCourse judged_course(MigrationLoad load, const MigrationSettings& settings,
                                            std::optional<std::chrono::milliseconds> downtime,
                                            Escalation escalation);

/// Whether a policy for these VMs says explicitly that this is not to be done to them: that holds.
/// Only what nobody has decided for them, or the KubeVirt object for all, is overridden.
[[nodiscard]] bool is_forbidden(Escalation escalation, const MigrationOverrides& policy) noexcept;

/// A move that ends in time with it.
struct EscalatedMove {
    std::chrono::milliseconds duration{0};
    std::chrono::seconds completion_per_gib{0};  ///< of post_copy and pause: 1 … 60 s

    friend bool operator==(const EscalatedMove&, const EscalatedMove&) = default;
};

/// None: by judged_course() it would not end within `left` with it either, or `escalation` is none.
[[nodiscard]] std::optional<EscalatedMove> escalated_move(
    const MigrationLoad& load, const MigrationSettings& settings,
    std::optional<std::chrono::milliseconds> downtime, Escalation escalation,
    std::chrono::milliseconds left);

/// One VMI among those of its namespace.
struct ChosenVmi {
    Labels labels;               ///< its own
    Labels space;                ///< of its namespace
    std::vector<Labels> others;  ///< of all other VMIs of the namespace
};

/// But those that KubeVirt sets and removes as a migration goes.
[[nodiscard]] Labels lasting_labels(const Labels& labels);

/// What a policy chooses by that KubeVirt applies to this VMI rather than any of `policies`, and to
/// no other one. It names all labels of the VMI that stay while it is moved, among them
/// kubevirt.io/nodeName, and all of its namespace, among them kubernetes.io/metadata.name: so it
/// matches in this namespace and on this node alone. Errors: refused, where another VMI has all
/// these labels too, a label is missing that keeps others out, or a policy names as many.
[[nodiscard]] Result<PolicySelectors> selectors_of_one(const std::vector<MigrationPolicy>& policies,
                                                       const ChosenVmi& vmi);

/// The same wherever the VMI runs: kubevirt.io/nodeName is named only where it is needed to keep
/// others out, or to outrank a policy.
[[nodiscard]] Result<PolicySelectors> selectors_of_one_anywhere(
    const std::vector<MigrationPolicy>& policies, const ChosenVmi& vmi);

/// What the policy of one move says, all but its times.
struct PolicyOfOne {
    PolicySelectors selectors;
    std::string based_on;  ///< name of the policy that is applied without it; empty: none is
};

/// Of `policies` none was made for a single move. Errors: refused, as selectors_of_one(), or where
/// the policy in force forbids it.
[[nodiscard]] Result<PolicyOfOne> policy_of_one(const std::vector<MigrationPolicy>& policies,
                                                const ChosenVmi& vmi, Escalation escalation);

}  // namespace scout::migration
