// SPDX-License-Identifier: Apache-2.0
// Why a VM is not moved, or not any more.
#include <algorithm>
#include <utility>

#include "migration/evacuation.h"
#include "migration/evacuation_text.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using Why = EvacuationWhy;

constexpr const char* no_node =
    "there is no Node object of its node any more: KubeVirt moves nothing from there";
constexpr const char* no_handler =
    "its node shuts down, and as far as is known virt-handler with it, which begins no migration "
    "any more: a step of its own in the kubelet's shutdownGracePeriodByPodPriority would keep it, "
    "if the kubelet delays the shutdown and the agent finds its configuration";

}  // namespace

std::string in_seconds(milliseconds time) {
    const auto tenths = std::max<std::int64_t>(0, time.count() / 100);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

milliseconds left_until(SteadyTime end, SteadyTime now) {
    return std::chrono::floor<milliseconds>(end - now);
}

/// Why nobody shall move it, however much time there is.
Evacuation::Reason Evacuation::why_no_move() const {
    if (!settings_.act) {
        return {Why::unwanted, "it is only observed: evacuation.mode is not act"};
    }
    if (launcher_.shutting_down) {
        return {Why::stopped, "its guest was asked to shut down already"};
    }
    if (outlook_.liveness_kill) {
        return {Why::unwanted, "its liveness probe had it killed: a moved guest would be as ill"};
    }
    if (outlook_.handler_stops) {
        return {Why::unwanted, no_handler};
    }
    if (!vmi_) {
        return {};
    }
    if (vmi_->node_gone) {
        return {Why::unwanted, no_node};
    }
    if (wanted_move(vmi_->strategy, vmi_->migratable) != WantedMove::none) {
        return {};
    }
    if (vmi_->strategy == EvictionStrategy::none) {
        return {Why::unwanted, "its eviction strategy is None"};
    }
    return {Why::unwanted,
            "it cannot be migrated" +
                (vmi_->not_migratable.empty() ? std::string{} : ": " + vmi_->not_migratable)};
}

/// Why the one that is under way does not begin.
Evacuation::Reason Evacuation::why_in_vain() const {
    const auto* const move = unfinished();
    if (move == nullptr) {
        return {};
    }
    if (vmi_ && vmi_->node_gone && move->phase == MovePhase::pending) {
        return {Why::unwanted, no_node};
    }
    if (outlook_.handler_stops && move->phase < MovePhase::running && !launcher_.migrating) {
        return {Why::unwanted, no_handler};
    }
    return {};
}

/// Why it cannot be moved in time; empty if it can, or if somebody else decides that.
Evacuation::Reason Evacuation::why_too_late(SteadyTime now) const {
    if (launcher_.post_copy && unfinished() != nullptr) {
        return {};
    }
    if (now >= cancel_at()) {
        return {Why::too_late, "there is no time left to move it: its guest is killed in " +
                                   in_seconds(left_until(ends_at(), now))};
    }
    if (vmi_ && wanted_move(vmi_->strategy, vmi_->migratable) == WantedMove::announce) {
        return {};
    }
    const auto duration = planned(now);
    if (!duration) {
        return {Why::too_late, "a migration of it does not end"};
    }
    if (now + *duration > cancel_at()) {
        return {Why::too_late, "a migration of it needs " + in_seconds(*duration) +
                                   " at best, and there are " +
                                   in_seconds(left_until(cancel_at(), now))};
    }
    if (replaced_by_ && (mark_stays() || (now >= *replaced_by_ && !is_requesting()))) {
        return {Why::too_late,
                "KubeVirt begins its next evacuation too late, and keeps it: none of virt-scout's "
                "own can take its place"};
    }
    if (!is_replacing() && waits_too_long(now)) {
        return {Why::too_late,
                "after evacuations of it that failed KubeVirt begins the next one in " +
                    in_seconds(left_until(outlook_.next_evacuation.value_or(now), now)) +
                    ", and there are " + in_seconds(left_until(cancel_at(), now))};
    }
    if (!outlook_.queued_in_time && unfinished() == nullptr) {
        return {Why::too_many, "too many VMs of this node wait to be moved"};
    }
    return {};
}

}  // namespace scout::migration
