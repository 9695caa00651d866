// SPDX-License-Identifier: Apache-2.0
// Policies of single moves among those of the cluster.
#include <utility>

#include "aggregator/evacuation_view.h"
#include "cluster/migration_numbers.h"
#include "cluster/node_state.h"

namespace scout::aggregator {

/// Of the VMI and of those that a policy with all its labels could be for as well: others of its
/// namespace and node.
migration::ChosenVmi EvacuationView::chosen(const kube::Vmi& vmi, const kube::Labels& space) const {
    migration::ChosenVmi chosen{.labels = cluster::plain_labels(vmi.labels),
                                .space = cluster::plain_labels(space),
                                .others = {}};
    sources_.vmis.each([&chosen, &vmi](const auto& other) {
        if (cluster::may_share_policy(vmi, *other)) {
            chosen.others.push_back(cluster::plain_labels(other->labels));
        }
    });
    return chosen;
}

Result<cluster::MovePolicy> EvacuationView::move_policy(const NamedEvacuation& named,
                                                        migration::Escalation escalation) const {
    const auto seen = vmi(named);
    const auto space = sources_.namespaces.find({}, named.space);
    if (!seen || !space || !sources_.policies.synced()) {
        return fail(Errc::unavailable,
                    "the VMI, its namespace or the policies are not seen at the API server");
    }
    if (const auto& last = seen->migration; last && last->is_under_way()) {
        return fail(Errc::refused,
                    "a migration of it was handed off already: it keeps to the policies of then");
    }
    // One of an earlier move of it goes before the new one is made.
    std::vector<migration::MigrationPolicy> policies;
    sources_.policies.each([&policies](const auto& policy) {
        if (!cluster::is_move_policy(*policy)) {
            policies.push_back(cluster::plain_policy(*policy));
        }
    });
    auto policy = migration::policy_of_one(policies, chosen(*seen, space->labels), escalation);
    if (!policy) {
        return fail(std::move(policy.error()));
    }
    return cluster::MovePolicy{.escalation = escalation,
                               .selectors = std::move(policy->selectors),
                               .based_on = std::move(policy->based_on)};
}

std::vector<EvacuationView::MoveWithPolicy> EvacuationView::moves_with_policy() const {
    std::vector<MoveWithPolicy> all;
    sources_.policies.each([&all](const auto& policy) {
        if (cluster::is_move_policy(*policy)) {
            all.push_back({.vmi_uid = policy->move_of, .policy_uid = policy->meta.uid});
        }
    });
    return all;
}

bool EvacuationView::has_left(const NamedEvacuation& named, std::string_view node) const {
    const auto seen = vmi(named);
    return sources_.vmis.synced() && (!seen || seen->node != node);
}

}  // namespace scout::aggregator
