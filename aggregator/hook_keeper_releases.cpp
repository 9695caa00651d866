// SPDX-License-Identifier: Apache-2.0
// What waits for the answer of an agent that is gone, and goes on.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/hook_keeper.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

/// Until every virt-handler has the new condition.
constexpr auto handlers_know_after = 2s;
/// By then every stop that was held has been tried again.
constexpr auto looked_for = 2min;
/// For a place; who waited in vain is looked for again.
constexpr auto turn_limit = 10s;

/// What virt-handler writes of a stop that our hook did not let pass, be it a veto or nobody's
/// answer (dossier §3.3, §3.4).
bool is_stopped_by_hook(const kube::Vmi& vmi) {
    const auto* const condition = kube::find_condition(vmi.conditions, "Synchronized");
    if (condition == nullptr || condition->status != "False") {
        return false;
    }
    const auto text = condition->message.view();
    return text.find("PreVMStop") != std::string_view::npos &&
           text.find(cluster::hook_plugin_name) != std::string_view::npos;
}

cluster::EvacuationSubject subject_of(const kube::Vmi& vmi) {
    return {.space = vmi.meta.space.str(),
            .vmi = vmi.meta.name,
            .vmi_uid = vmi.meta.uid,
            .pod = {},
            .pod_uid = {},
            .node = vmi.node.str(),
            .strategy = {}};
}

}  // namespace

/// VMs that wait for the answer of an agent that nobody asks any more.
std::vector<cluster::EvacuationSubject> HookKeeper::held_in_vain() const {
    const auto there = plugin();
    const auto left_out = cluster::left_out_by(there.get());
    std::vector<cluster::EvacuationSubject> held;
    for (const auto& node : left_out) {
        auto on_node = sources_.desk.held_on(node);
        std::move(on_node.begin(), on_node.end(), std::back_inserter(held));
    }
    sources_.vmis.each([&held, &left_out, &there](const auto& vmi) {
        if (is_stopped_by_hook(*vmi) && (!there || left_out.contains(vmi->node.view()))) {
            held.push_back(subject_of(*vmi));
        }
    });
    return held;
}

/// An update makes virt-handler try the stop again at once (dossier §14.3), and it is the one that
/// counts: each further one after a veto would lengthen its back-off. None waits for another one,
/// nor the next look at the nodes for any.
void HookKeeper::let_go() {
    const auto since = clock_.steady() - written_at_;
    if (since < handlers_know_after || since > looked_for) {
        return;
    }
    auto held = held_in_vain();
    std::erase_if(let_go_, [&held](const auto& uid) {
        return std::none_of(held.begin(), held.end(),
                            [&uid](const auto& subject) { return subject.vmi_uid == uid; });
    });
    for (auto& subject : held) {
        if (let_go_.insert(subject.vmi_uid).second) {
            scope_.spawn("stop that goes on", [this, subject = std::move(subject)]() mutable {
                return touch(std::move(subject));
            });
        }
    }
}

Task<> HookKeeper::touch(cluster::EvacuationSubject subject) {
    const auto uid = subject.vmi_uid;
    const auto place = co_await places_->enter(turn_limit);
    auto outcome = migration::StepOutcome::unavailable;
    if (place) {
        spdlog::info("a stop goes on, its agent is gone vmi={}/{} node={}", subject.space,
                     log_value(subject.vmi), log_value(subject.node));
        migration::EvacuationOrder order{.step = migration::EvacuationStep::touch, .object = {}};
        outcome = co_await acts_.carry_out(std::move(subject), std::move(order));
    }
    if (outcome == migration::StepOutcome::unavailable) {
        let_go_.erase(uid);
    } else {
        ++counters_.released;
    }
}

}  // namespace scout::aggregator
