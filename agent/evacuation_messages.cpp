// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuation_messages.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "cluster/evacuation_facts.h"
#include "wire/checks.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;
using migration::StepOutcome;
using std::chrono::seconds;

constexpr std::size_t reason_limit = 1024;
/// As Kubernetes' objects are read; sums of some of them stay in range.
constexpr std::int64_t most_seconds = 31LL * 366 * 24 * 3600;
constexpr std::uint32_t most_rule_seconds = 3600;

std::string clean(std::string_view text, std::size_t limit = wire::name_limit) {
    return wire::cut(replace_strays(text, [](std::string& to, char) { to += '?'; }), limit);
}

seconds in_range(std::int64_t value) {
    return seconds{std::clamp<std::int64_t>(value, 0, most_seconds)};
}

std::optional<seconds> in_range(bool there, std::int64_t value) {
    return there ? std::optional{in_range(value)} : std::nullopt;
}

ToldVmi vmi_from(const v1::VmiFacts& vmi) {
    const auto strategy = migration::strategy_named(vmi.eviction_strategy());
    return {.facts = {.uid = wire::cut(vmi.uid()),
                      .deleting = vmi.deleting(),
                      .phase = wire::cut(vmi.phase()),
                      .node = wire::cut(vmi.node()),
                      .marked_node = wire::cut(vmi.marked_node()),
                      .strategy = strategy.value_or(migration::EvictionStrategy::none),
                      .migratable = vmi.migratable(),
                      .not_migratable = wire::cut(vmi.not_migratable()),
                      .node_gone = vmi.node_gone(),
                      .handed_off = vmi.handed_off()},
            .grace = in_range(vmi.grace_seconds())};
}

ToldPod pod_from(const v1::PodFacts& pod) {
    return {
        .name = wire::cut(pod.name()),
        .phase = wire::cut(pod.phase()),
        .grace = in_range(pod.has_grace_seconds(), pod.grace_seconds()),
        .deletion_grace = in_range(pod.has_deletion_grace_seconds(), pod.deletion_grace_seconds()),
        .launcher_grace = in_range(pod.has_launcher_grace_seconds(), pod.launcher_grace_seconds())};
}

using Moves = google::protobuf::RepeatedPtrField<v1::MoveFacts>;

std::optional<std::vector<migration::MoveFacts>> moves_from(const Moves& moves) {
    if (static_cast<std::size_t>(moves.size()) > moves_limit) {
        return std::nullopt;
    }
    std::vector<migration::MoveFacts> out;
    out.reserve(static_cast<std::size_t>(moves.size()));
    for (const auto& move : moves) {
        out.push_back({.name = wire::cut(move.name()),
                       .phase = cluster::move_phase(move.phase()),
                       .target_pod = wire::cut(move.target_pod()),
                       .deleting = move.deleting(),
                       .backs_off = move.backs_off()});
    }
    return out;
}

migration::MigrationSettings numbers_from(const v1::MigrationNumbers& numbers) {
    return {.allow_auto_converge = numbers.allow_auto_converge(),
            .allow_post_copy = numbers.allow_post_copy(),
            .allow_workload_disruption = numbers.allow_workload_disruption(),
            .bandwidth = migration::Quantity{numbers.bandwidth()},
            .completion_per_gib = in_range(numbers.completion_seconds_per_gib()),
            .progress = in_range(numbers.progress_seconds())};
}

migration::CopiedDisks disks_from(const v1::MigrationNumbers& numbers) {
    // More than any storage has; sums stay in range.
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 56U;
    const auto all = std::min(numbers.disk_bytes(), most_bytes);
    return {.bytes = {.least = 0, .likely = all, .most = all},
            .counted = std::min(numbers.counted_disk_bytes(), all)};
}

StepOutcome outcome_from(v1::EvacuationResult::Outcome outcome) {
    switch (outcome) {
        case v1::EvacuationResult::DONE:
            return StepOutcome::done;
        case v1::EvacuationResult::UNDONE:
            return StepOutcome::undone;
        case v1::EvacuationResult::WOULD_EVICT:
            return StepOutcome::would_evict;
        case v1::EvacuationResult::REFUSED:
            return StepOutcome::refused;
        default:
            return StepOutcome::unavailable;
    }
}

EvacuationMode mode_from(v1::EvacuationRules::Mode mode) {
    switch (mode) {
        case v1::EvacuationRules::MODE_ACT:
            return EvacuationMode::act;
        case v1::EvacuationRules::MODE_OBSERVE:
            return EvacuationMode::observe;
        default:
            return EvacuationMode::off;
    }
}

}  // namespace

std::string_view to_string(EvacuationMode mode) noexcept {
    switch (mode) {
        case EvacuationMode::observe:
            return "observe";
        case EvacuationMode::act:
            return "act";
        case EvacuationMode::off:
            break;
    }
    return "off";
}

v1::Evacuations to_wire(const EvacuationsMessage& message) {
    v1::Evacuations out;
    out.set_hook_served(message.hook_served);
    const auto count = std::min(message.lines.size(), evacuations_limit);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& line = message.lines[i];
        auto& told = *out.add_evacuations();
        told.set_namespace_(clean(line.space));
        told.set_vmi(clean(line.vmi));
        told.set_vmi_uid(clean(line.vmi_uid));
        told.set_pod_uid(clean(line.pod_uid));
        told.set_state(std::string{migration::to_string(line.state)});
        told.set_reason(clean(line.reason, reason_limit));
        told.set_stop_by_unix_ms(line.stop_by.time_since_epoch().count());
    }
    return out;
}

v1::EvacuationOrder to_wire(const EvacuationOrderMessage& message) {
    v1::EvacuationOrder out;
    out.set_id(message.id);
    out.set_vmi_uid(clean(message.vmi_uid));
    out.set_step(std::string{migration::to_string(message.order.step)});
    out.set_object(clean(message.order.object));
    return out;
}

EvacuationRules from_wire(const v1::EvacuationRules& rules) {
    return {
        .mode = mode_from(rules.mode()),
        .stamp = rules.stamp(),
        .eviction_strategy = wire::cut(rules.eviction_strategy()),
        .reserve = seconds{std::min(rules.reserve_seconds(), most_rule_seconds)},
        .patience = seconds{std::min(rules.patience_seconds(), most_rule_seconds)},
        .escalation =
            migration::escalation_named(rules.escalation()).value_or(migration::Escalation::none)};
}

EvacuationFacts from_wire(const v1::EvacuationFacts& facts) {
    EvacuationFacts out{.vmi_uid = wire::cut(facts.vmi_uid()),
                        .numbers = facts.has_numbers() ? numbers_from(facts.numbers())
                                                       : migration::MigrationSettings{},
                        .disks = disks_from(facts.numbers()),
                        .escalated = facts.numbers().escalated(),
                        .slots = std::max(1U, facts.slots())};
    if (facts.has_vmi()) {
        out.vmi = vmi_from(facts.vmi());
    }
    if (facts.moves_known()) {
        out.moves = moves_from(facts.moves());
    }
    if (facts.has_pod()) {
        out.pod = pod_from(facts.pod());
    }
    if (facts.numbers().has_max_downtime_ms()) {
        out.downtime = std::chrono::milliseconds{
            std::clamp<std::int64_t>(facts.numbers().max_downtime_ms(), 0, most_seconds)};
    }
    if (facts.next_evacuation_unix_ms() != 0) {
        constexpr std::int64_t latest_ms = std::int64_t{1} << 50U;
        out.next_evacuation = WallTime{std::chrono::milliseconds{
            std::clamp<std::int64_t>(facts.next_evacuation_unix_ms(), 0, latest_ms)}};
    }
    return out;
}

EvacuationResult from_wire(const v1::EvacuationResult& result) {
    EvacuationResult out{.id = result.id(),
                         .outcome = outcome_from(result.outcome()),
                         .text = wire::cut(result.text(), wire::text_limit)};
    if (result.has_vmi()) {
        out.vmi = vmi_from(result.vmi());
        out.liveness_kill = result.liveness_kill();
    }
    if (auto moves = moves_from(result.moves())) {
        out.moves = *std::move(moves);
    } else {
        out.outcome = StepOutcome::unavailable;
    }
    return out;
}

}  // namespace scout::agent
