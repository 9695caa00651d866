// SPDX-License-Identifier: Apache-2.0
// What /metrics and /readyz tell of a cluster.
#include <string>
#include <vector>

#include "aggregator/cluster_parts.h"

namespace scout::aggregator {
namespace {

void add_labels(const LevelLabels& labels, ClusterFacts& facts) {
    facts.nodes_by_profile = labels.keeper().by_profile();
    facts.nodes_profile_unused = labels.keeper().profile_unused();
    facts.labels_out_of_step = labels.out_of_step();
    facts.labels_written = labels.counters().written;
    facts.labels_failed = labels.counters().failed;
}

std::string trouble_of(const std::vector<FollowedKind>& kinds) {
    std::string all;
    for (const auto& [plural, trouble] : kinds) {
        all += (all.empty() || trouble.empty() ? "" : "; ") + trouble;
    }
    return all;
}

void add_causes(const auto& causes, const CauseHistory& history, ClusterFacts& facts) {
    facts.launcher_ends = causes.ends.counters();
    facts.migrations = causes.moves.counters();
    facts.policies = causes.drift.counters();
    facts.landings = causes.landings.counters();
    facts.causes_unwritten = causes.moves.failed();
    facts.history_entries = history.size();
    facts.history_bytes = history.bytes();
}

}  // namespace

ClusterFacts ClusterSide::facts() const {
    ClusterFacts facts;
    facts.leads = parts_->elector.leads();
    facts.synced = parts_->labels.synced();
    facts.kinds = parts_->objects.kinds();
    facts.trouble = trouble_of(facts.kinds);
    if (parts_->elector.holder().empty()) {
        facts.leaderless = parts_->elector.trouble();
    }
    facts.nodes = parts_->objects.nodes.size();
    facts.profiles = parts_->profiles.counters();
    add_labels(parts_->labels, facts);
    if (parts_->needs_certificate()) {
        facts.serving = parts_->certificates.facts();
    }
    facts.agents_certified = parts_->agents.count();
    if (parts_->protection != nullptr) {
        facts.protection = parts_->protection->counts();
    }
    facts.placement = parts_->placement.counters();
    facts.grace = parts_->grace.counters();
    facts.target_moves = parts_->targets.moves();
    facts.target_pods = parts_->targets.pods();
    facts.policy_lint = parts_->policies.counters();
    if (parts_->queries != nullptr) {
        facts.queries = parts_->queries->counters();
    }
    if (const auto* const mover = parts_->mover.get()) {
        facts.evacuations = mover->desk.counters();
        facts.hook = mover->hook.counters();
    }
    if (parts_->relief != nullptr) {
        facts.relief = parts_->relief->counters();
    }
    if (const auto* const causes = parts_->causes.get()) {
        add_causes(*causes, parts_->history, facts);
    }
    facts.events = parts_->events.counters();
    facts.crowded_out = parts_->https == nullptr ? 0 : parts_->https->crowded_out();
    return facts;
}

}  // namespace scout::aggregator
