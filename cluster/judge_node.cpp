// SPDX-License-Identifier: Apache-2.0
#include "cluster/judge_node.h"

#include <string>
#include <utility>

#include "migration/label_profile.h"

namespace scout::cluster {
namespace {

using migration::Layer;

/// One reason of the stock layer in place of all that follows from it.
void only(migration::Comparison& answer, migration::Reason reason) {
    std::erase_if(answer.reasons,
                  [](const migration::Reason& each) { return each.layer == Layer::stock; });
    answer.gate = migration::Verdict::unknown;
    migration::refuse(answer, std::move(reason));
}

}  // namespace

migration::Comparison judge_node(const migration::PreparedGuest& guest, const kube::Node& node,
                                 const NodeState& state, const NodeProfile& chosen,
                                 const migration::CpuMap* map) {
    const auto profile = truth_profile(chosen, state.stock, map);
    const auto facts = migration::label_facts(state.stock);
    const migration::NodeView view{
        .profile = profile, .facts = facts, .labels = state.labels, .labels_derived = false};
    auto answer = migration::compare(guest, migration::prepare(view, map));
    if (!is_of_kubevirt(node)) {
        only(answer,
             {.code = migration::ReasonCode::unschedulable,
              .layer = Layer::stock,
              .text = "the target node has no label of KubeVirt: no virt-handler runs there",
              .keys = {std::string{migration::label::schedulable}}});
    } else {
        for (auto& closed : why_closed(state)) {
            migration::refuse(answer, std::move(closed));
        }
    }
    return answer;
}

}  // namespace scout::cluster
