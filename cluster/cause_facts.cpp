// SPDX-License-Identifier: Apache-2.0
#include "cluster/cause_facts.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace scout::cluster {
namespace {

using namespace std::chrono_literals;
using migration::CauseEvent;
using migration::CauseFacts;
using migration::EventOn;

/// What a node told so long before a launcher's end may have to do with it, and so long after.
constexpr auto before_the_end = 30min;
constexpr auto after_the_end = 5min;

bool is_true(const kube::Condition* condition) {
    return condition != nullptr && condition->status == "True";
}

bool same(std::string_view a, std::string_view b) {
    return a.empty() || b.empty() || a == b;
}

bool is_near(WallTime at, const std::optional<WallTime>& end) {
    return !end || at == WallTime{} || (at >= *end - before_the_end && at <= *end + after_the_end);
}

void take_disruption(CauseFacts& facts, const kube::PodRecord& pod) {
    if (const auto* disruption = kube::find_condition(pod.conditions, "DisruptionTarget");
        is_true(disruption)) {
        facts.disruption = disruption->reason.str();
        facts.disruption_message = disruption->message.str();
        facts.disrupted_at = disruption->since;
    }
}

void take_pod(CauseFacts& facts, const kube::PodRecord& pod) {
    facts.pod_there = true;
    facts.pod_phase = pod.phase.str();
    facts.pod_reason = pod.reason.str();
    facts.pod_message = pod.message.str();
    facts.pod_deleting = pod.deletion.has_value();
    if (pod.deletion && pod.deletion_grace) {
        facts.pod_deleted_at = *pod.deletion - *pod.deletion_grace;
    }
    facts.node = pod.node.str();
    take_disruption(facts, pod);
    for (const auto& container : pod.containers) {
        if (container.exit_code) {
            facts.ends.push_back({.name = container.name.str(),
                                  .exit_code = *container.exit_code,
                                  .reason = container.reason.str(),
                                  .memory_limit = !container.memory_limit.empty(),
                                  .at = container.finished.value_or(WallTime{})});
        }
    }
}

void take_vmi(CauseFacts& facts, const kube::VmiRecord& vmi) {
    facts.vmi_there = true;
    facts.vmi_phase = vmi.phase.str();
    facts.vmi_reason = vmi.reason.str();
    facts.vmi_ended_at = kube::final_time(vmi.phases).value_or(WallTime{});
    facts.vmi_controlled = vmi.controlled;
    facts.vmi_deleting = vmi.deletion.has_value();
    facts.vmi_deleted_at = vmi.deletion.value_or(WallTime{});
    if (facts.node.empty() && !facts.pod_there) {
        const bool left = vmi.move && vmi.move->source_pod == facts.pod && !facts.pod.empty();
        facts.node = left ? vmi.move->source_node.str() : vmi.node.str();
    }
}

bool is_of(const kube::SeenEvent& event, const LauncherSeen& launcher) {
    return event.kind == "Pod" && event.space == launcher.space && event.name == launcher.name &&
           same(event.uid.view(), launcher.uid());
}

/// Whether the launcher was made for that VMI. One that is gone is older than a VMI of its VM's
/// name if anything was told of it before that was made.
bool is_its_own(const Records& records, const LauncherSeen& launcher, const kube::VmiRecord& vmi) {
    if (launcher.pod != nullptr) {
        return same(vmi.meta.uid, launcher.pod->vmi_uid);
    }
    return std::none_of(records.events.begin(), records.events.end(),
                        [&launcher, &vmi](const kube::SeenEvent& event) {
                            return is_of(event, launcher) && event.at != WallTime{} &&
                                   event.at < vmi.creation.value_or(WallTime{});
                        });
}

/// Where its VMI goes on without it; empty: it does not, or nothing tells.
std::string runs_on(const Records& records, const LauncherSeen& launcher,
                    const kube::VmiRecord& vmi) {
    if (vmi.phase != "Running") {
        return {};
    }
    if (launcher.pod != nullptr) {
        const bool elsewhere = !launcher.pod->node.empty() && launcher.pod->node != vmi.node;
        const bool ran_in_it = !is_mere_target(records, *launcher.pod, &vmi);
        return launcher.pod->is_final() && elsewhere && ran_in_it ? vmi.node.str() : std::string{};
    }
    const auto is_active = [&vmi](std::string_view uid) {
        return std::any_of(vmi.active_pods.begin(), vmi.active_pods.end(),
                           [uid](const auto& pod) { return pod.uid == uid; });
    };
    const bool left = std::any_of(records.events.begin(), records.events.end(),
                                  [&launcher, &vmi, &is_active](const kube::SeenEvent& event) {
                                      return is_of(event, launcher) && !event.uid.empty() &&
                                             !vmi.active_pods.empty() &&
                                             !is_active(event.uid.view());
                                  });
    return left ? vmi.node.str() : std::string{};
}

void take_node(CauseFacts& facts, const Records& records) {
    facts.nodes_known = !records.nodes.empty();
    const auto found =
        std::find_if(records.nodes.begin(), records.nodes.end(),
                     [&facts](const auto& node) { return node.meta.name == facts.node; });
    if (found == records.nodes.end()) {
        return;
    }
    facts.node_there = true;
    facts.node_closed = found->schedulable == "false";
    for (const auto& condition : found->conditions) {
        if (condition.type.view().ends_with("Pressure") && is_true(&condition)) {
            facts.node_pressures.push_back(condition.type.str());
        }
    }
    const auto* ready = kube::find_condition(found->conditions, "Ready");
    if (ready != nullptr && !is_true(ready)) {
        facts.node_not_ready =
            ready->reason.str() +
            (ready->message.empty() ? std::string{} : ": " + ready->message.str());
    }
}

/// The name of the node in an event on a pod that is gone stands in no field: none is taken.
std::optional<EventOn> concerns(const kube::SeenEvent& event, const LauncherSeen& launcher,
                                const CauseFacts& facts, const std::optional<WallTime>& end) {
    if (is_of(event, launcher)) {
        return EventOn::pod;
    }
    const auto vmi_uid = launcher.pod == nullptr ? std::string{} : launcher.pod->vmi_uid;
    if (event.kind == "VirtualMachineInstance" && event.space == launcher.space &&
        event.name == launcher.vmi_name && same(event.uid.view(), vmi_uid)) {
        return EventOn::vmi;
    }
    if (event.kind == "Node" && !facts.node.empty() && event.name == facts.node &&
        is_near(event.at, end)) {
        return EventOn::node;
    }
    return std::nullopt;
}

void take_events(CauseFacts& facts, const Records& records, const LauncherSeen& launcher,
                 const std::optional<WallTime>& end) {
    facts.events_known = !records.events.empty();
    for (const auto& event : records.events) {
        if (const auto on = concerns(event, launcher, facts, end)) {
            facts.events.push_back({.on = *on,
                                    .reason = event.reason.str(),
                                    .message = event.message.str(),
                                    .starved = event.starved.str(),
                                    .at = event.at});
        }
    }
    std::stable_sort(facts.events.begin(), facts.events.end(),
                     [](const CauseEvent& a, const CauseEvent& b) { return a.at < b.at; });
}

/// A kill that was long ago is of another container; clocks of nodes differ by some seconds.
constexpr auto lately = 60s;

/// A migration that took the VM away from this launcher.
std::string moved_to(const Records& records, const LauncherSeen& launcher) {
    const auto target = [&launcher](const std::optional<kube::MoveState>& state) {
        const bool took =
            state && state->completed && !state->failed && state->source_pod == launcher.name;
        return took ? &state->target_node : nullptr;
    };
    for (const auto& move : records.moves) {
        if (move.meta.space == launcher.space && move.vmi_name == launcher.vmi_name &&
            move.phase == "Succeeded") {
            if (const auto* node = target(move.state)) {
                return node->str();
            }
        }
    }
    for (const auto& vmi : records.vmis) {
        if (vmi.meta.space == launcher.space && vmi.meta.name == launcher.vmi_name) {
            if (const auto* node = target(vmi.move)) {
                return node->str();
            }
        }
    }
    return {};
}

}  // namespace

bool is_mere_target(const Records& records, const kube::PodRecord& pod,
                    const kube::VmiRecord* vmi) {
    if (pod.migration_uid.empty()) {
        return false;
    }
    if (vmi != nullptr && vmi->move && vmi->move->uid == pod.migration_uid) {
        return !vmi->move->completed || vmi->move->failed;
    }
    return std::any_of(records.moves.begin(), records.moves.end(),
                       [&pod](const kube::MoveRecord& move) {
                           return move.meta.uid == pod.migration_uid && move.phase != "Succeeded";
                       });
}

std::optional<WallTime> end_of(const kube::PodRecord& pod) {
    auto end = kube::end_of_launcher(pod);
    if (!end && pod.is_final()) {
        const auto* disruption = kube::find_condition(pod.conditions, "DisruptionTarget");
        if (is_true(disruption) && disruption->since != WallTime{}) {
            end = disruption->since;
        }
    }
    return end;
}

migration::Cause ending_told(const Records& records, const LauncherSeen& launcher,
                             std::optional<WallTime> until) {
    const auto is_early = [&until](WallTime at) { return !until || at <= *until; };
    CauseFacts facts;
    facts.pod_there = true;
    facts.pod_phase = "Running";
    facts.told_to_stop = true;
    if (launcher.pod != nullptr) {
        take_disruption(facts, *launcher.pod);
    }
    if (!is_early(facts.disrupted_at)) {
        facts.disruption.clear();
    }
    take_events(facts, records, launcher, std::nullopt);
    std::erase_if(facts.events, [&is_early](const CauseEvent& event) {
        return event.on != EventOn::pod || !is_early(event.at);
    });
    return migration::find_cause(facts).cause.value_or(migration::Cause::unknown);
}

bool is_killed_for_liveness(const std::vector<kube::SeenEvent>& events, WallTime now) {
    CauseFacts facts;
    facts.pod_there = true;
    facts.pod_phase = "Running";
    facts.told_to_stop = true;
    facts.events_known = true;
    for (const auto& event : events) {
        if (event.kind == "Pod" && event.reason != "Unhealthy" && event.at > now - lately) {
            facts.events.push_back({.on = EventOn::pod,
                                    .reason = event.reason.str(),
                                    .message = event.message.str(),
                                    .starved = event.starved.str(),
                                    .at = event.at});
        }
    }
    return migration::find_cause(facts).cause == migration::Cause::liveness;
}

migration::CauseFacts cause_facts(const Records& records, const LauncherSeen& launcher,
                                  const kube::VmiRecord* vmi) {
    CauseFacts facts;
    facts.pod = launcher.name;
    facts.perhaps_of = launcher.perhaps_of;
    std::optional<WallTime> end;
    if (launcher.pod != nullptr) {
        take_pod(facts, *launcher.pod);
        end = end_of(*launcher.pod);
    }
    facts.vmis_known = !records.vmis.empty();
    if (vmi != nullptr && is_its_own(records, launcher, *vmi)) {
        take_vmi(facts, *vmi);
        facts.runs_on = runs_on(records, launcher, *vmi);
    }
    take_node(facts, records);
    take_events(facts, records, launcher, end);
    facts.moved_to = moved_to(records, launcher);
    return facts;
}

}  // namespace scout::cluster
