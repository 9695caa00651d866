// SPDX-License-Identifier: Apache-2.0
#include "migration/cause.h"

#include <algorithm>
#include <utility>

#include "migration/cause_words.h"

namespace scout::migration {
namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// One thing that speaks for a cause.
struct Vote {
    Cause cause{};
    std::string resource;
    WallTime at;  ///< when it began; the epoch: not known
};

/// What the facts say, each thing in its turn. Told: by whoever did it. Hinted: it may have been
/// so. What follows from any end of a launcher counts only where nothing else does.
class Hearing {
public:
    explicit Hearing(const CauseFacts& facts) : facts_(facts) {}

    [[nodiscard]] CauseAnswer judge();

private:
    void hear_status();
    void hear_evicted();
    void hear_disruption();
    void hear_events();
    void hear_pod_event(const CauseEvent& event);
    void hear_node_event(const CauseEvent& event);
    void hear_containers();
    void hear_owner();
    void hear_node();
    void hear_guest();
    void hear_lost_node();
    [[nodiscard]] bool is_ended() const;
    [[nodiscard]] CauseAnswer answer_of_told();
    [[nodiscard]] CauseAnswer answer_of_hints();
    [[nodiscard]] CauseAnswer answer_of_silence();

    void tell(Cause cause, std::string evidence, std::string resource = {}, WallTime at = {}) {
        told_.push_back({.cause = cause, .resource = std::move(resource), .at = at});
        say(std::move(evidence));
    }
    void hint(Cause cause, std::string evidence, std::string resource = {}) {
        hinted_.push_back({.cause = cause, .resource = std::move(resource), .at = {}});
        say(std::move(evidence));
    }
    void say(std::string evidence) {
        auto& all = answer_.evidence;
        if (std::find(all.begin(), all.end(), evidence) == all.end()) {
            all.push_back(std::move(evidence));
        }
    }

    const CauseFacts& facts_;
    std::vector<Vote> told_;
    std::vector<Vote> hinted_;
    bool contradicted_ = false;
    bool guest_ended_ = false;  ///< its VMI says so
    CauseAnswer answer_;
};

std::string quoted(std::string_view what, std::string_view reason, std::string_view message) {
    std::string out{what};
    out += " " + std::string{reason};
    if (!message.empty()) {
        out += ": " + std::string{message.substr(0, message.find_last_not_of(" \n") + 1)};
    }
    return out;
}

bool Hearing::is_ended() const {
    const bool goes_on = facts_.vmi_there && facts_.vmi_phase == "Running";
    return facts_.pod_phase == "Failed" || facts_.pod_phase == "Succeeded" ||
           (!facts_.pod_there && !goes_on);
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
    } else if (facts_.disruption == "DeletionByTaintManager") {
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
    } else if (event.reason == "TaintManagerEviction") {
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
    } else if (event.reason == "NodeShutdown" || event.reason == "Shutdown") {
        hint(Cause::node_shutdown, said);
    } else if (event.reason == "RemovingNode") {
        hint(Cause::node_removed, said);
    }
}

void Hearing::hear_events() {
    for (const auto& event : facts_.events) {
        if (event.on == EventOn::pod) {
            hear_pod_event(event);
        } else if (event.on == EventOn::node) {
            hear_node_event(event);
        } else if (event.reason == "Stopped") {
            guest_ended_ = guest_ended_ || has(event.message, "shut down");
            say(quoted("VMI event", event.reason, event.message));
        } else if (event.reason == "NodeUnresponsive") {
            say(quoted("VMI event", event.reason, event.message));
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
        if (end.memory_limit) {
            tell(Cause::own_limit, said + "and has a memory limit of its own", "memory", end.at);
        } else {
            hint(Cause::node_pressure, said + "and has no memory limit of its own: the node's",
                 "memory");
        }
    }
}

/// A VM that shall run gets a new VMI after its launcher's end: then the old one is deleted too,
/// and that tells nothing.
void Hearing::hear_owner() {
    if (facts_.vmi_deleting) {
        const bool after_the_end =
            std::any_of(facts_.ends.begin(), facts_.ends.end(), [this](const ContainerEnd& end) {
                return end.at != WallTime{} && facts_.vmi_deleted_at != WallTime{} &&
                       end.at < facts_.vmi_deleted_at;
            });
        const auto when = facts_.vmi_deleted_at == WallTime{}
                              ? std::string{}
                              : " at " + rfc3339(facts_.vmi_deleted_at);
        if (after_the_end) {
            say("the VMI was deleted" + when + ", after the launcher had ended");
        } else {
            tell(Cause::owner_delete, "the VMI was deleted" + when, {}, facts_.vmi_deleted_at);
        }
    } else if (facts_.pod_deleting && facts_.disruption.empty()) {
        if (facts_.vmis_known && !facts_.vmi_there) {
            hint(Cause::owner_delete, "the pod is being deleted and its VMI is gone");
        } else {
            say("the pod was deleted and its VMI was not: somebody deleted the pod itself");
        }
    }
}

/// What its node says now may be of another hour: it never decides.
void Hearing::hear_node() {
    if (facts_.nodes_known && !facts_.node.empty() && !facts_.node_there) {
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
    guest_ended_ = guest_ended_ || facts_.vmi_phase == "Succeeded";
    if (!facts_.vmi_phase.empty() && (is_ended() || facts_.vmi_phase != "Running")) {
        say("VMI phase " + facts_.vmi_phase +
            (facts_.vmi_reason.empty() ? std::string{} : ", reason " + facts_.vmi_reason));
    }
    for (const auto& end : facts_.ends) {
        if (end.name == "compute" && end.reason != "OOMKilled") {
            say("container compute ended " + (end.reason.empty() ? "" : end.reason + " ") +
                "with exit code " + std::to_string(end.exit_code));
            guest_ended_ = guest_ended_ || (end.exit_code == 0 && facts_.pod_phase == "Succeeded");
        }
    }
    if (!facts_.moved_to.empty()) {
        say("its VM moved to node " + facts_.moved_to + " by a migration that succeeded");
    }
}

void Hearing::hear_lost_node() {
    if (facts_.vmi_reason == "NodeUnresponsive" && facts_.nodes_known && facts_.node_there) {
        say("virt-handler of node " + facts_.node +
            " did not answer, and KubeVirt gave the VMI up");
    }
}

CauseAnswer Hearing::answer_of_told() {
    // The owner's deletion comes before what it brought about, and after what brought it about.
    const auto owner = std::stable_partition(told_.begin(), told_.end(), [](const Vote& vote) {
        return vote.cause != Cause::owner_delete;
    });
    if (owner != told_.end() && owner->at != WallTime{} && owner->at < told_.front().at) {
        std::iter_swap(told_.begin(), owner);
    }
    const auto& first = told_.front();
    answer_.cause = first.cause;
    answer_.resource = first.resource;
    answer_.certain = true;
    for (const auto& vote : told_) {
        if (answer_.resource.empty() && vote.cause == first.cause) {
            answer_.resource = vote.resource;
        }
        const bool same = vote.cause == first.cause &&
                          (vote.resource.empty() || vote.resource == answer_.resource);
        if (!same) {
            answer_.certain = false;
            contradicted_ = true;
        }
    }
    const bool node_is_back =
        first.cause == Cause::node_removed && facts_.nodes_known && facts_.node_there;
    if (node_is_back) {
        answer_.certain = false;
        say("contradiction: the Node object " + facts_.node + " is there (made anew?)");
    }
    if (contradicted_) {
        say("contradiction: the evidence names more than one cause");
    }
    return std::move(answer_);
}

/// Nobody said it, but something may have been the cause: the one that most speaks for, if the
/// launcher ended or ends at all.
CauseAnswer Hearing::answer_of_hints() {
    const auto votes_for = [this](const Vote& vote) {
        return std::count_if(hinted_.begin(), hinted_.end(),
                             [&vote](const Vote& each) { return each.cause == vote.cause; });
    };
    const auto best = std::max_element(
        hinted_.begin(), hinted_.end(),
        [&votes_for](const Vote& a, const Vote& b) { return votes_for(a) < votes_for(b); });
    answer_.cause = best->cause;
    for (const auto& vote : hinted_) {
        if (vote.cause == best->cause && answer_.resource.empty()) {
            answer_.resource = vote.resource;
        }
        if (vote.cause != best->cause && !contradicted_) {
            contradicted_ = true;
            say("contradiction: the evidence allows more than one cause");
        }
    }
    answer_.certain = false;
    return std::move(answer_);
}

CauseAnswer Hearing::answer_of_silence() {
    const bool goes = answer_.ended || facts_.pod_deleting || facts_.told_to_stop;
    if (!facts_.moved_to.empty() || !goes) {
        answer_.certain = facts_.pod_there;
        return std::move(answer_);
    }
    if (guest_ended_ && !facts_.pod_deleting) {
        answer_.cause = Cause::guest_shutdown;
        // A probe's kill leaves its trace in Events alone.
        answer_.certain =
            facts_.events_known && facts_.pod_there && facts_.vmi_there && hinted_.empty();
        if (!facts_.events_known) {
            say("no Events: a kill by a liveness probe would look the same");
        }
        return std::move(answer_);
    }
    answer_.cause = Cause::unknown;
    if (!facts_.events_known) {
        say("no Events: what the kubelet told is missing");
    }
    return std::move(answer_);
}

CauseAnswer Hearing::judge() {
    answer_.ended = is_ended();
    hear_status();
    hear_disruption();
    hear_events();
    hear_containers();
    hear_owner();
    hear_guest();
    hear_node();
    hear_lost_node();
    if (!told_.empty()) {
        return answer_of_told();
    }
    const bool goes = answer_.ended || facts_.pod_deleting || facts_.told_to_stop;
    const bool by_itself = guest_ended_ && !facts_.pod_deleting;
    if (goes && facts_.moved_to.empty() && !by_itself && !hinted_.empty()) {
        return answer_of_hints();
    }
    return answer_of_silence();
}

}  // namespace

CauseAnswer find_cause(const CauseFacts& facts) {
    return Hearing(facts).judge();
}

}  // namespace scout::migration
