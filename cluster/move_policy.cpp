// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_policy.h"

#include <utility>

#include "cluster/migration_numbers.h"
#include "cluster/policy_body.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::Escalation;

constexpr std::string_view name_prefix = "virt-scout-move-";
constexpr std::string_view node_label = "kubevirt.io/nodeName";

void override_fields(const MovePolicy& policy, json::object& spec) {
    switch (policy.escalation) {
        case Escalation::none:
            break;
        case Escalation::auto_converge:
            spec["allowAutoConverge"] = true;
            break;
        case Escalation::post_copy:
        case Escalation::pause:
            spec["allowPostCopy"] = policy.escalation == Escalation::post_copy;
            spec["allowWorkloadDisruption"] = true;
            spec["completionTimeoutPerGiB"] = policy.completion_per_gib.count();
            break;
    }
}

}  // namespace

std::string move_policy_name(std::string_view vmi_uid) {
    return std::string{name_prefix} + std::string{vmi_uid};
}

bool is_move_policy(const kube::MigrationPolicy& policy) {
    return policy.meta.name.starts_with(name_prefix) &&
           policy.move_of == policy.meta.name.substr(name_prefix.size());
}

std::vector<migration::MigrationPolicy> lasting_policies(
    const std::vector<kube::MigrationPolicy>& policies) {
    std::vector<migration::MigrationPolicy> lasting;
    lasting.reserve(policies.size());
    for (const auto& policy : policies) {
        if (!is_move_policy(policy)) {
            lasting.push_back(plain_policy(policy));
        }
    }
    return lasting;
}

bool may_share_policy(const kube::Vmi& one, const kube::Vmi& other) {
    return one.meta.space == other.meta.space && one.meta.uid != other.meta.uid &&
           one.labels.find(node_label) == other.labels.find(node_label);
}

std::string move_policy_body(const MovePolicy& policy, std::string_view vmi_uid,
                             json::object spec) {
    override_fields(policy, spec);
    json::object labels;
    labels[move_policy_label] = vmi_uid;
    return policy_body({{"name", move_policy_name(vmi_uid)}, {"labels", std::move(labels)}},
                       policy.selectors, std::move(spec));
}

}  // namespace scout::cluster
