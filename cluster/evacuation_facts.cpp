// SPDX-License-Identifier: Apache-2.0
#include "cluster/evacuation_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "migration/stuck.h"

namespace scout::cluster {
namespace {

using migration::MovePhase;

constexpr std::array<std::pair<std::string_view, MovePhase>, 8> phases{
    {{"Scheduling", MovePhase::scheduling},
     {"Scheduled", MovePhase::scheduling},
     {"PreparingTarget", MovePhase::prepared},
     {"TargetReady", MovePhase::prepared},
     {"Running", MovePhase::running},
     {"Succeeded", MovePhase::succeeded},
     {"Failed", MovePhase::failed},
     {"Pending", MovePhase::pending}}};

}  // namespace

MovePhase move_phase(std::string_view phase) noexcept {
    const auto* const found = std::find_if(phases.begin(), phases.end(),
                                           [phase](const auto& one) { return one.first == phase; });
    return found != phases.end() ? found->second : MovePhase::pending;
}

std::string lost_at_stop(const kube::Vmi& vmi) {
    return vmi.shares_files ? "its virtiofs shares end when its launcher's pod is told to stop"
                            : std::string{};
}

std::string waiting_target(const kube::Vmi& vmi) {
    const auto& state = vmi.migration;
    return state && !state->start && !state->completed ? state->target_pod.str() : std::string{};
}

migration::VmiFacts vmi_facts(const kube::Vmi& vmi, std::string_view strategy) {
    const auto* const said = kube::find_condition(vmi.conditions, "LiveMigratable");
    const bool can = said != nullptr && said->status == "True";
    auto lost = lost_at_stop(vmi);
    return {.uid = vmi.meta.uid,
            .deleting = vmi.deletion.has_value(),
            .phase = vmi.phase.str(),
            .node = vmi.node.str(),
            .marked_node = vmi.evacuation_node.str(),
            .strategy = migration::effective_strategy(vmi.eviction_strategy.view(), strategy),
            .migratable = can && lost.empty(),
            .not_migratable = can || said == nullptr ? std::move(lost) : said->reason.str(),
            .handed_off = vmi.migration && vmi.migration->is_under_way()};
}

std::string_view phase_word(MovePhase phase) noexcept {
    const auto* const found = std::find_if(
        phases.begin(), phases.end(), [phase](const auto& one) { return one.second == phase; });
    return found != phases.end() ? found->first : "Pending";
}

std::chrono::seconds grace_of(const kube::Vmi& vmi) noexcept {
    return vmi.grace.value_or(migration::StopTimes{}.vmi_grace);
}

migration::MoveFacts move_facts(const kube::Migration& migration, const kube::Vmi* vmi) {
    const bool told = vmi != nullptr && vmi->migration && vmi->migration->uid == migration.meta.uid;
    return {.name = migration.meta.name,
            .phase = move_phase(migration.phase.view()),
            .target_pod = told ? vmi->migration->target_pod.str() : std::string{},
            .deleting = migration.deletion.has_value(),
            .backs_off = migration.backs_off};
}

std::optional<WallTime> next_evacuation(
    const std::vector<std::shared_ptr<const kube::Migration>>& moves) {
    std::vector<migration::StuckMoveFacts> facts;
    for (const auto& move : moves) {
        auto& one = facts.emplace_back();
        one.phase = move->phase.str();
        one.created = move->creation.value_or(WallTime{});
        one.failed_at = move->failed_at.value_or(WallTime{});
        one.deleting = move->deletion.has_value();
        one.backs_off = move->backs_off;
    }
    return migration::back_off(std::move(facts)).next_try;
}

}  // namespace scout::cluster
