// SPDX-License-Identifier: Apache-2.0
#include "migration/cause_votes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "migration/cause_order.h"
#include "migration/cause_words.h"

namespace scout::migration {
namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// Asks them one after the other.
class Hearing {
public:
    explicit Hearing(const CauseFacts& facts) : facts_(facts) {}

    [[nodiscard]] Testimony hear_all();

private:
    void hear_status();
    void hear_evicted();
    void hear_disruption();
    void hear_events();
    void hear_pod_event(const CauseEvent& event);
    void hear_node_event(const CauseEvent& event);
    void hear_vmi_event(const CauseEvent& event);
    void hear_containers();
    void hear_owner();
    [[nodiscard]] bool hear_deletion();
    void hear_node();
    void hear_guest();
    void hear_lost_node();
    [[nodiscard]] bool is_ended() const;

    void tell(Cause cause, std::string evidence, std::string resource = {}, WallTime at = {}) {
        out_.told.push_back(
            {.cause = cause, .resource = std::move(resource), .at = at, .evidence = evidence});
        say(std::move(evidence));
    }
    void hint(Cause cause, std::string evidence, std::string resource = {}) {
        out_.hinted.push_back(
            {.cause = cause, .resource = std::move(resource), .at = {}, .evidence = evidence});
        say(std::move(evidence));
    }
    void say(std::string evidence) { out_.say(std::move(evidence)); }

    const CauseFacts& facts_;
    Testimony out_;
    bool failed_ = false;  ///< what KubeVirt calls that, or crashed
};

std::string quoted(std::string_view what, std::string_view reason, std::string_view message) {
    std::string out{what};
    out += " " + std::string{reason};
    if (!message.empty()) {
        out += ": " + std::string{message.substr(0, message.find_last_not_of(" \n") + 1)};
    }
    return out;
}

bool is_final(std::string_view phase) {
    return phase == "Failed" || phase == "Succeeded";
}

bool Hearing::is_ended() const {
    const bool goes_on = facts_.vmi_there && !is_final(facts_.vmi_phase) && !has_left(facts_);
    return is_final(facts_.pod_phase) || (!facts_.pod_there && !goes_on);
}

void Hearing::hear_status() {
    const auto said = quoted("pod status", facts_.pod_reason, facts_.pod_message);
    if (facts_.pod_reason == "Evicted") {
        hear_evicted();
    } else if (is_shutdown(facts_.pod_reason, facts_.pod_message)) {
        tell(Cause::node_shutdown, said);
    } else if (facts_.pod_reason == "Preempting") {
        tell(Cause::preemption, said);
    } else if (is_refusal(facts_.pod_reason)) {
        tell(Cause::kubelet_readmission, said);
        if (facts_.node_closed) {
            say("node " + facts_.node + " has kubevirt.io/schedulable not true");
        }
    } else if (facts_.pod_reason == "NodeLost") {
        hint(Cause::node_removed, said);
    } else if (!facts_.pod_reason.empty()) {
        say(said);
    }
}

void Hearing::hear_evicted() {
    const auto said = quoted("pod status", facts_.pod_reason, facts_.pod_message);
    if (auto words = kubelet_words(facts_.pod_message)) {
        tell(words->cause, said, std::move(words->resource), facts_.disrupted_at);
    } else {
        hint(Cause::node_pressure, said);
    }
}

void Hearing::hear_disruption() {
    if (facts_.disruption.empty()) {
        return;
    }
    const auto said =
        quoted("condition DisruptionTarget", facts_.disruption, facts_.disruption_message);
    const auto at = facts_.disrupted_at;
    if (facts_.disruption == "EvictionByEvictionAPI") {
        tell(Cause::api_eviction, said, {}, at);
    } else if (facts_.disruption == "PreemptionByScheduler" ||
               has(facts_.disruption_message, "reempted")) {
        tell(Cause::preemption, said, {}, at);
    } else if (facts_.disruption == "DeletionByTaintManager" ||
               facts_.disruption == "DeletionByDeviceTaintManager") {
        tell(Cause::taint, said, {}, at);
    } else if (facts_.disruption == "DeletionByPodGC") {
        const bool says_gone = has(facts_.disruption_message, "no longer exists");
        const bool gone = facts_.nodes_known && !facts_.node_there;
        tell(says_gone || gone ? Cause::node_removed : Cause::garbage_collection, said, {}, at);
    } else if (is_shutdown({}, facts_.disruption_message)) {
        tell(Cause::node_shutdown, said, {}, at);
    } else if (auto words = kubelet_words(facts_.disruption_message)) {
        tell(words->cause, said, std::move(words->resource), at);
    } else {
        say(said);
    }
}

void Hearing::hear_pod_event(const CauseEvent& event) {
    const auto said = quoted("pod event", event.reason, event.message);
    if (event.reason == "Evicted") {
        if (auto words = kubelet_words(event.message)) {
            tell(words->cause, said, event.starved.empty() ? words->resource : event.starved,
                 event.at);
        } else if (!event.starved.empty()) {
            tell(Cause::node_pressure, said, event.starved, event.at);
        } else {
            hint(Cause::node_pressure, said);
        }
    } else if (event.reason == "Preempted" || event.reason == "Preempting") {
        tell(Cause::preemption, said, {}, event.at);
    } else if (event.reason == "TaintManagerEviction" ||
               event.reason == "DeviceTaintManagerEviction") {
        if (!event.message.starts_with("Cancel")) {
            tell(Cause::taint, said, {}, event.at);
        }
    } else if (event.reason == "Killing" && has(event.message, "liveness probe")) {
        tell(Cause::liveness, said, {}, event.at);
    } else if (event.reason == "Unhealthy" && has(event.message, "Liveness probe")) {
        hint(Cause::liveness, said);
    } else if (event.reason == "NodeShutdown") {
        tell(Cause::node_shutdown, said, {}, event.at);
    }
}

void Hearing::hear_node_event(const CauseEvent& event) {
    const auto said = quoted("node event", event.reason, event.message);
    if (event.reason == "EvictionThresholdMet") {
        constexpr std::string_view before = "Attempting to reclaim ";
        auto resource =
            event.message.starts_with(before) ? event.message.substr(before.size()) : std::string{};
        hint(Cause::node_pressure, said, std::move(resource));
    } else if (event.reason == "SystemOOM" || event.reason == "OOMKilling") {
        hint(Cause::node_pressure, said, "memory");
    } else if (event.reason == "NodeShutdown" && is_shutdown_cancelled(event.message)) {
        std::erase_if(out_.hinted,
                      [](const Vote& vote) { return vote.cause == Cause::node_shutdown; });
        say(said);
    } else if (event.reason == "NodeShutdown" || event.reason == "Shutdown") {
        hint(Cause::node_shutdown, said);
    } else if (event.reason == "RemovingNode") {
        hint(Cause::node_removed, said);
    } else if (event.reason == "Rebooted") {
        say(said);
    }
}

/// "Crashed" is KubeVirt's word for every VMI that comes to Failed: its guest crashed, was killed
/// when its grace was over, or its launcher is gone, as with the node (recordPhaseChangeEvent() and
/// calculateVmPhaseForStatusReason() of its pkg/virt-handler/vm.go).
void Hearing::hear_vmi_event(const CauseEvent& event) {
    const auto said = quoted("VMI event", event.reason, event.message);
    if (event.reason == "Stopped" && has(event.message, "crashed")) {
        failed_ = true;
        say(said + " (said of a launcher that was lost or killed, too)");
    } else if (event.reason == "Stopped") {
        out_.guest_ended = out_.guest_ended || has(event.message, "shut down");
        say(said);
    } else if (event.reason == "NodeUnresponsive") {
        say(said);
    }
}

void Hearing::hear_events() {
    for (const auto& event : facts_.events) {
        if (event.on == EventOn::pod) {
            hear_pod_event(event);
        } else if (event.on == EventOn::node) {
            hear_node_event(event);
        } else {
            hear_vmi_event(event);
        }
    }
}

/// The limit of a container's own kills inside of its cgroup; without one it was the node's memory.
void Hearing::hear_containers() {
    for (const auto& end : facts_.ends) {
        if (end.reason != "OOMKilled") {
            continue;
        }
        const auto said = "container " + end.name + " ended OOMKilled (exit code " +
                          std::to_string(end.exit_code) + "), ";
        if (!end.is_launcher()) {
            say(said + "which ends no launcher");
        } else if (end.memory_limit) {
            tell(Cause::own_limit, said + "and has a memory limit of its own", "memory", end.at);
        } else {
            hint(Cause::node_pressure, said + "and has no memory limit of its own: the node's",
                 "memory");
        }
    }
}

void Hearing::hear_owner() {
    if (facts_.vmi_deleting && hear_deletion()) {
        return;
    }
    if (is_pod_deleted_first(facts_) && facts_.disruption.empty()) {
        if (facts_.vmis_known && !facts_.vmi_there) {
            hint(Cause::owner_delete, "the pod is being deleted and its VMI is gone");
        } else {
            say("the pod was deleted and its VMI was not: somebody deleted the pod itself");
        }
    }
}

/// Of the VMI; whether it was surely its owner's.
bool Hearing::hear_deletion() {
    const auto said = "the VMI was deleted" + (facts_.vmi_deleted_at == WallTime{}
                                                   ? std::string{}
                                                   : " at " + rfc3339(facts_.vmi_deleted_at));
    const auto whose = deletion_of(facts_);
    const std::string close = ", within seconds of its end: clocks may differ by as much";
    switch (whose) {
        case Deletion::owners:
            tell(Cause::owner_delete, said, {}, facts_.vmi_deleted_at);
            return true;
        case Deletion::perhaps_owners:
            hint(Cause::owner_delete, said + close);
            break;
        case Deletion::perhaps_after:
            say(said + close);
            break;
        case Deletion::after_the_end:
            say(said + ", after the guest had ended");
            break;
    }
    return false;
}

/// What its node says now may be of another hour: it never decides.
void Hearing::hear_node() {
    if (has_lost_node(facts_)) {
        hint(Cause::node_removed, "there is no Node object " + facts_.node);
        return;
    }
    for (const auto& pressure : facts_.node_pressures) {
        const auto words = kubelet_words("The node had condition: [" + pressure + "]. ");
        hint(Cause::node_pressure, "node " + facts_.node + " has " + pressure,
             words ? words->resource : std::string{});
    }
    if (has(facts_.node_not_ready, "shutting down")) {
        hint(Cause::node_shutdown, "node " + facts_.node + ": " + facts_.node_not_ready);
    } else if (!facts_.node_not_ready.empty()) {
        say("node " + facts_.node + " is not ready: " + facts_.node_not_ready);
    }
}

void Hearing::hear_guest() {
    out_.guest_ended = out_.guest_ended || facts_.vmi_phase == "Succeeded";
    failed_ = failed_ || facts_.vmi_phase == "Failed";
    if (!facts_.vmi_phase.empty() && (is_ended() || facts_.vmi_phase != "Running")) {
        say("VMI phase " + facts_.vmi_phase +
            (facts_.vmi_reason.empty() ? std::string{} : ", reason " + facts_.vmi_reason));
    }
    const bool pod_well = facts_.pod_phase == "Succeeded";
    bool launcher_well = false;
    for (const auto& end : facts_.ends) {
        if (end.is_launcher() && end.reason != "OOMKilled") {
            say("container compute ended " + (end.reason.empty() ? "" : end.reason + " ") +
                "with exit code " + std::to_string(end.exit_code));
            launcher_well = launcher_well || end.exit_code == 0;
        }
    }
    out_.guest_ended = out_.guest_ended || (pod_well && launcher_well && !failed_);
    out_.guest_crashed = failed_ && (pod_well || launcher_well);
    if (has_left(facts_)) {
        say(left_text(facts_));
    }
}

void Hearing::hear_lost_node() {
    if (facts_.vmi_reason == "NodeUnresponsive" && facts_.nodes_known && facts_.node_there) {
        say("virt-handler of node " + facts_.node +
            " did not answer, and KubeVirt gave the VMI up");
    }
}

Testimony Hearing::hear_all() {
    out_.ended = is_ended();
    hear_status();
    hear_disruption();
    hear_events();
    hear_containers();
    hear_owner();
    hear_guest();
    hear_node();
    hear_lost_node();
    return std::move(out_);
}

}  // namespace

std::string left_text(const CauseFacts& facts) {
    if (!facts.moved_to.empty()) {
        return "its VM moved to node " + facts.moved_to + " by a migration that succeeded";
    }
    return facts.runs_on.empty() ? std::string{} : "its VM runs on node " + facts.runs_on;
}

bool has_left(const CauseFacts& facts) noexcept {
    return !facts.moved_to.empty() || !facts.runs_on.empty();
}

bool has_lost_node(const CauseFacts& facts) noexcept {
    return facts.nodes_known && !facts.node.empty() && !facts.node_there;
}

void Testimony::say(std::string sentence) {
    if (std::find(evidence.begin(), evidence.end(), sentence) == evidence.end()) {
        evidence.push_back(std::move(sentence));
    }
}

Testimony hear(const CauseFacts& facts) {
    return Hearing(facts).hear_all();
}

}  // namespace scout::migration
