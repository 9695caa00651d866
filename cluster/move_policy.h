// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "kube/objects/migration_policy.h"
#include "kube/objects/vmi.h"
#include "migration/escalation.h"
#include "migration/migration_policy.h"

/// The MigrationPolicy of one move (design §6): cluster-scoped, so no VMI can own it, and found
/// again by its name and label whoever made it. Pure.
namespace scout::cluster {

/// Its value is the uid of the VMI.
inline constexpr std::string_view move_policy_label = "virt-scout.io/move-of";

[[nodiscard]] std::string move_policy_name(std::string_view vmi_uid);

/// By name and label: nobody else's is.
[[nodiscard]] bool is_move_policy(const kube::MigrationPolicy& policy);

/// All others, as rules know them: those of single moves come and go.
[[nodiscard]] std::vector<migration::MigrationPolicy> lasting_policies(
    const std::vector<kube::MigrationPolicy>& policies);

/// They are of one namespace and node, so a policy that names all labels of one may be for both.
[[nodiscard]] bool may_share_policy(const kube::Vmi& one, const kube::Vmi& other);

/// What is asked for one VMI.
struct MovePolicy {
    migration::Escalation escalation = migration::Escalation::none;
    std::chrono::seconds completion_per_gib{0};  ///< of post_copy and pause
    migration::PolicySelectors selectors;
    std::string based_on;  ///< name of the policy that is applied without it; empty: none is
};

/// `spec`: that of the policy that it is based on, of which every field is kept that is not
/// overridden, also those that we do not know.
[[nodiscard]] std::string move_policy_body(const MovePolicy& policy, std::string_view vmi_uid,
                                           boost::json::object spec);

}  // namespace scout::cluster
