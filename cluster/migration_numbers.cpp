// SPDX-License-Identifier: Apache-2.0
#include "cluster/migration_numbers.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cluster/evacuation_rules.h"
#include "cluster/move_policy.h"
#include "cluster/name_list.h"
#include "cluster/node_state.h"
#include "migration/quantity.h"

namespace scout::cluster {
namespace {

constexpr std::string_view stall_gate = "MigrationStallDetection";
constexpr std::uint64_t most_disk = std::uint64_t{1} << 50U;

template <class Duration>
std::optional<Duration> duration_of(const std::optional<std::int64_t>& said) {
    // Of what is longer nobody sees the end.
    constexpr std::int64_t longest = 1'000'000'000;
    return said ? std::optional{Duration{std::clamp<std::int64_t>(*said, 0, longest)}}
                : std::nullopt;
}

migration::MigrationOverrides overrides(const kube::MigrationSettings& said) {
    migration::MigrationOverrides out{
        .allow_auto_converge = said.allow_auto_converge,
        .allow_post_copy = said.allow_post_copy,
        .allow_workload_disruption = said.allow_workload_disruption,
        .bandwidth = {},
        .completion_per_gib = duration_of<std::chrono::seconds>(said.completion_seconds_per_gib),
        .progress = duration_of<std::chrono::seconds>(said.progress_seconds),
        .max_downtime = duration_of<std::chrono::milliseconds>(said.max_downtime_ms)};
    if (const auto bandwidth = migration::Quantity::parse(said.bandwidth.view())) {
        out.bandwidth = *bandwidth;
    }
    return out;
}

unsigned limit(const std::optional<std::int64_t>& said, unsigned otherwise) noexcept {
    return static_cast<unsigned>(std::clamp<std::int64_t>(said.value_or(otherwise), 0, 1'000'000));
}

/// A migration keeps to what it was handed off with, whatever matches since (dossier §16).
/// Null: none is.
const kube::MigrationState* under_way(const kube::Vmi& vmi) noexcept {
    const auto& last = vmi.migration;
    return last && last->is_under_way() ? &*last : nullptr;
}

/// None: it is not told, or is no number of bytes.
std::optional<std::uint64_t> size_of(const kube::CopiedDisk& disk) {
    const auto size = migration::Quantity::parse(disk.size.view());
    return size ? std::optional{size->rounded_up()} : std::nullopt;
}

/// Null: it goes by none, or by one that is not there any more.
const migration::MigrationPolicy* policy_for(
    const kube::Vmi& vmi, const kube::Labels& space,
    const std::vector<migration::MigrationPolicy>& policies) {
    if (const auto* const moving = under_way(vmi)) {
        const auto recorded = moving->policy.view();
        const auto found =
            std::find_if(policies.begin(), policies.end(),
                         [recorded](const auto& policy) { return policy.name == recorded; });
        return found == policies.end() ? nullptr : &*found;
    }
    return policy_of_next(vmi, space, policies);
}

}  // namespace

const migration::MigrationPolicy* policy_of_next(
    const kube::Vmi& vmi, const kube::Labels& space,
    const std::vector<migration::MigrationPolicy>& policies) {
    const auto matches =
        migration::matching_policies(policies, plain_labels(vmi.labels), plain_labels(space));
    return matches.empty() ? nullptr : matches.front().policy;
}

migration::MigrationPolicy plain_policy(const kube::MigrationPolicy& policy) {
    migration::MigrationPolicy out{
        .name = policy.meta.name, .selectors = {}, .overrides = overrides(policy.settings)};
    if (policy.selectors) {
        out.selectors = {.space = plain_labels(policy.selectors->space),
                         .vmi = plain_labels(policy.selectors->vmi)};
    }
    return out;
}

std::vector<migration::MigrationPolicy> plain_policies(
    const std::vector<kube::MigrationPolicy>& policies) {
    std::vector<migration::MigrationPolicy> out;
    out.reserve(policies.size());
    for (const auto& policy : policies) {
        out.push_back(plain_policy(policy));
    }
    return out;
}

std::uint64_t memory_of(const kube::Vmi& vmi) {
    const auto memory = migration::Quantity::parse(vmi.memory.view());
    return memory ? memory->rounded_up() : 0;
}

migration::CopiedDisks copied_disks(const kube::Vmi& vmi) {
    migration::CopiedDisks out;
    for (const auto& disk : vmi.copied_disks) {
        // More than any storage has; sums stay in range.
        const auto size = std::min(size_of(disk).value_or(0), most_disk);
        out.bytes.most += size;
        out.counted += disk.claimed ? size : 0;
    }
    out.bytes.likely = out.bytes.most;
    return out;
}

std::string copied_disks_text(const kube::Vmi& vmi) {
    if (vmi.copies_unnamed) {
        return "a move copies disks (migrationMethod BlockMigration), and the VMI does not tell "
               "which: how long it takes cannot be forecast";
    }
    std::vector<std::string> known;
    std::vector<std::string> unknown;
    for (const auto& disk : vmi.copied_disks) {
        if (size_of(disk)) {
            known.push_back(disk.name.str() + " (" + disk.size.str() + ")");
        } else {
            unknown.push_back(disk.name.str());
        }
    }
    std::string out;
    if (!known.empty()) {
        out = "a move also copies what is in use of disk " + first_names(known) +
              ": nothing at best, and all of it is expected";
    }
    if (!unknown.empty()) {
        out += (out.empty() ? "" : "; ") +
               std::string{"a move also copies what is in use of disk "} + first_names(unknown) +
               ", which no forecast counts: its size is not told";
    }
    return out;
}

migration::MigrationOverrides overrides_of(const kube::KubeVirt* kubevirt) {
    return kubevirt == nullptr ? migration::MigrationOverrides{} : overrides(kubevirt->migrations);
}

MigrationNumbers migration_numbers(const kube::Vmi& vmi, const kube::Labels& space,
                                   const std::vector<migration::MigrationPolicy>& policies,
                                   const kube::KubeVirt* kubevirt) {
    MigrationNumbers numbers;
    numbers.downtime_obeyed = lists_gate(kubevirt, stall_gate);
    numbers.disks = copied_disks(vmi);
    if (const auto* const moving = under_way(vmi); moving != nullptr && moving->settings) {
        // Of KubeVirt's own defaults, its object, and the policy.
        numbers.settings = migration::settings_in_force(overrides(*moving->settings), nullptr);
        numbers.escalated = moving->policy == move_policy_name(vmi.meta.uid);
        return numbers;
    }
    const auto* const policy = policy_for(vmi, space, policies);
    const auto* const said = policy == nullptr ? nullptr : &policy->overrides;
    numbers.settings = migration::settings_in_force(overrides_of(kubevirt), said);
    numbers.escalated = policy != nullptr && policy->name == move_policy_name(vmi.meta.uid);
    return numbers;
}

MoveLimits move_limits(const kube::KubeVirt* kubevirt) noexcept {
    MoveLimits limits;
    if (kubevirt != nullptr) {
        const auto& said = kubevirt->migrations;
        limits.outbound = limit(said.outbound_per_node, limits.outbound);
        limits.in_cluster = limit(said.per_cluster, limits.in_cluster);
    }
    return limits;
}

bool takes_place(std::string_view phase) noexcept {
    return !phase.empty() && phase != "Pending" && !kube::is_final_phase(phase);
}

unsigned slots(const kube::KubeVirt* kubevirt, std::size_t elsewhere) noexcept {
    const auto limits = move_limits(kubevirt);
    const auto left = limits.in_cluster - std::min<std::size_t>(elsewhere, limits.in_cluster);
    return static_cast<unsigned>(
        std::max<std::size_t>(1, std::min<std::size_t>(limits.outbound, left)));
}

}  // namespace scout::cluster
