// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/kubevirt.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/vmi.h"
#include "migration/convergence.h"
#include "migration/migration_policy.h"
#include "migration/migration_settings.h"

/// The numbers that a migration of a VM would run by, from the cluster's objects (dossier §6.5,
/// §7). Pure; what cannot be read counts as not said.
namespace scout::cluster {

/// As the pure rule takes them.
[[nodiscard]] migration::MigrationPolicy plain_policy(const kube::MigrationPolicy& policy);

[[nodiscard]] std::vector<migration::MigrationPolicy> plain_policies(
    const std::vector<kube::MigrationPolicy>& policies);

/// By which KubeVirt would hand the VMI's next migration off; null: by none. `space`: the labels of
/// its namespace. Points into `policies`.
[[nodiscard]] const migration::MigrationPolicy* policy_of_next(
    const kube::Vmi& vmi, const kube::Labels& space,
    const std::vector<migration::MigrationPolicy>& policies);

/// Bytes of the guest's memory; 0: it is not told.
[[nodiscard]] std::uint64_t memory_of(const kube::Vmi& vmi);

/// What a migration of the VMI copies beside its memory, as far as it tells sizes: of what is in
/// use it tells nothing, so that may be none.
[[nodiscard]] migration::CopiedDisks copied_disks(const kube::Vmi& vmi);

/// Which disks those are, and of which no forecast can be made, for people; empty: there are none.
[[nodiscard]] std::string copied_disks_text(const kube::Vmi& vmi);

/// What the KubeVirt object says; it may be null.
[[nodiscard]] migration::MigrationOverrides overrides_of(const kube::KubeVirt* kubevirt);

struct MigrationNumbers {
    migration::MigrationSettings settings;
    bool downtime_obeyed = false;  ///< by the gate MigrationStallDetection
    bool escalated = false;        ///< by a policy for one move of this VMI (move_policy.h)
    migration::CopiedDisks disks;  ///< copied_disks()

    bool operator==(const MigrationNumbers&) const = default;
};

/// Of the migration that is under way, else of the next one. `space`: the labels of the VMI's
/// namespace. `kubevirt` may be null.
[[nodiscard]] MigrationNumbers migration_numbers(
    const kube::Vmi& vmi, const kube::Labels& space,
    const std::vector<migration::MigrationPolicy>& policies, const kube::KubeVirt* kubevirt);

/// How many migrations KubeVirt runs at once (dossier §6.5): its own numbers where the object says
/// nothing, or is not there.
struct MoveLimits {
    unsigned outbound = 2;    ///< parallelOutboundMigrationsPerNode
    unsigned in_cluster = 5;  ///< parallelMigrationsPerCluster
};
[[nodiscard]] MoveLimits move_limits(const kube::KubeVirt* kubevirt) noexcept;

/// Takes one of KubeVirt's places for migrations: it is past Pending and not at its end.
[[nodiscard]] bool takes_place(std::string_view phase) noexcept;

/// How many migrations may run out of a node at once while `elsewhere` run out of others; at least
/// one. `kubevirt` may be null.
[[nodiscard]] unsigned slots(const kube::KubeVirt* kubevirt, std::size_t elsewhere) noexcept;

}  // namespace scout::cluster
