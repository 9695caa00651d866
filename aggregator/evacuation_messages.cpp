// SPDX-License-Identifier: Apache-2.0
#include "aggregator/evacuation_messages.h"

#include <array>
#include <set>
#include <utility>

#include "cluster/evacuation_facts.h"
#include "wire/checks.h"

namespace scout::aggregator {
namespace {

using migration::EvacuationState;
using migration::EvacuationStep;

constexpr std::array<EvacuationState, 7> states{
    EvacuationState::idle,    EvacuationState::suspected, EvacuationState::held,
    EvacuationState::moving,  EvacuationState::moved,     EvacuationState::given_up,
    EvacuationState::released};

constexpr std::array<EvacuationStep, 11> steps{
    EvacuationStep::read_vmi,    EvacuationStep::list_moves,  EvacuationStep::stamp,
    EvacuationStep::dry_run,     EvacuationStep::evict,       EvacuationStep::create_move,
    EvacuationStep::cancel_mark, EvacuationStep::delete_move, EvacuationStep::delete_target,
    EvacuationStep::touch,       EvacuationStep::escalate};

template <class Value, std::size_t Count>
std::optional<Value> named(const std::array<Value, Count>& values, std::string_view word) {
    for (const auto value : values) {
        if (migration::to_string(value) == word) {
            return value;
        }
    }
    return std::nullopt;
}

NamedEvacuation from_wire(wire::Checks& checks, const v1::Evacuation& message) {
    return {.space = checks.name("namespace", message.namespace_()),
            .vmi = checks.name("vmi", message.vmi()),
            .vmi_uid = checks.name("vmi_uid", message.vmi_uid()),
            .pod_uid = checks.name("pod_uid", message.pod_uid()),
            .state = named(states, message.state()),
            .reason = wire::cut(message.reason(), reason_limit),
            .stop_by_unix_ms = checks.unix_ms("stop_by_unix_ms", message.stop_by_unix_ms())};
}

v1::EvacuationRules::Mode to_wire(cluster::EvacuationMode mode) {
    switch (mode) {
        case cluster::EvacuationMode::off:
            break;
        case cluster::EvacuationMode::observe:
            return v1::EvacuationRules::MODE_OBSERVE;
        case cluster::EvacuationMode::act:
            return v1::EvacuationRules::MODE_ACT;
    }
    return v1::EvacuationRules::MODE_OFF;
}

}  // namespace

Result<std::vector<NamedEvacuation>> evacuations_from_wire(const v1::Evacuations& message) {
    wire::Checks checks;
    std::vector<NamedEvacuation> out;
    std::set<std::string> seen;
    if (checks.count("evacuations", message.evacuations_size(), evacuations_limit)) {
        for (const auto& evacuation : message.evacuations()) {
            auto named = from_wire(checks, evacuation);
            const bool whole = !named.space.empty() && !named.vmi.empty() &&
                               !named.vmi_uid.empty() && !named.pod_uid.empty();
            if (whole && seen.insert(named.vmi_uid).second) {
                out.push_back(std::move(named));
            }
        }
    }
    if (auto checked = checks.status(); !checked) {
        return fail(std::move(checked.error()));
    }
    return out;
}

std::optional<EvacuationStep> evacuation_step(std::string_view word) {
    return named(steps, word);
}

v1::EvacuationRules to_wire(const cluster::EvacuationRules& rules, bool stamp,
                            std::string_view strategy) {
    v1::EvacuationRules out;
    out.set_mode(to_wire(rules.mode));
    out.set_stamp(stamp);
    out.set_eviction_strategy(std::string{strategy});
    out.set_reserve_seconds(static_cast<std::uint32_t>(rules.reserve.count()));
    out.set_patience_seconds(static_cast<std::uint32_t>(rules.patience.count()));
    out.set_escalation(std::string{migration::to_string(rules.escalation)});
    return out;
}

v1::VmiFacts to_wire(const migration::VmiFacts& facts, std::chrono::seconds grace) {
    v1::VmiFacts out;
    out.set_uid(facts.uid);
    out.set_deleting(facts.deleting);
    out.set_phase(facts.phase);
    out.set_node(facts.node);
    out.set_marked_node(facts.marked_node);
    out.set_eviction_strategy(std::string{migration::to_string(facts.strategy)});
    out.set_migratable(facts.migratable);
    out.set_not_migratable(wire::cut(facts.not_migratable, reason_limit));
    out.set_grace_seconds(grace.count());
    out.set_node_gone(facts.node_gone);
    out.set_handed_off(facts.handed_off);
    return out;
}

v1::MoveFacts to_wire(const migration::MoveFacts& facts) {
    v1::MoveFacts out;
    out.set_name(facts.name);
    out.set_phase(std::string{cluster::phase_word(facts.phase)});
    out.set_target_pod(facts.target_pod);
    out.set_deleting(facts.deleting);
    out.set_backs_off(facts.backs_off);
    return out;
}

v1::PodFacts to_wire(const kube::LauncherPod& pod) {
    v1::PodFacts out;
    out.set_name(pod.meta.name);
    out.set_phase(pod.phase.str());
    if (pod.grace) {
        out.set_grace_seconds(pod.grace->count());
    }
    if (pod.deletion_grace) {
        out.set_deletion_grace_seconds(pod.deletion_grace->count());
    }
    if (pod.launcher_grace) {
        out.set_launcher_grace_seconds(pod.launcher_grace->count());
    }
    return out;
}

v1::MigrationNumbers to_wire(const cluster::MigrationNumbers& numbers) {
    const auto& settings = numbers.settings;
    v1::MigrationNumbers out;
    out.set_allow_auto_converge(settings.allow_auto_converge);
    out.set_allow_post_copy(settings.allow_post_copy);
    out.set_allow_workload_disruption(settings.allow_workload_disruption);
    out.set_bandwidth(settings.bandwidth.rounded_down());
    out.set_completion_seconds_per_gib(settings.completion_per_gib.count());
    out.set_progress_seconds(settings.progress.count());
    if (numbers.downtime_obeyed) {
        out.set_max_downtime_ms(settings.max_downtime.count());
    }
    out.set_escalated(numbers.escalated);
    if (numbers.disks.bytes.most > 0) {
        out.set_disk_bytes(numbers.disks.bytes.most);
        out.set_counted_disk_bytes(numbers.disks.counted);
    }
    return out;
}

v1::EvacuationResult::Outcome to_wire(migration::StepOutcome outcome) {
    switch (outcome) {
        case migration::StepOutcome::done:
            return v1::EvacuationResult::DONE;
        case migration::StepOutcome::undone:
            return v1::EvacuationResult::UNDONE;
        case migration::StepOutcome::would_evict:
            return v1::EvacuationResult::WOULD_EVICT;
        case migration::StepOutcome::refused:
            return v1::EvacuationResult::REFUSED;
        case migration::StepOutcome::unavailable:
            break;
    }
    return v1::EvacuationResult::UNAVAILABLE;
}

std::string_view outcome_word(migration::StepOutcome outcome) noexcept {
    switch (outcome) {
        case migration::StepOutcome::done:
            return "done";
        case migration::StepOutcome::undone:
            return "undone";
        case migration::StepOutcome::would_evict:
            return "would-evict";
        case migration::StepOutcome::refused:
            return "refused";
        case migration::StepOutcome::unavailable:
            break;
    }
    return "unavailable";
}

}  // namespace scout::aggregator
