// SPDX-License-Identifier: Apache-2.0
#include "migration/escalation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view node_label = "kubevirt.io/nodeName";
constexpr std::string_view space_label = "kubernetes.io/metadata.name";
/// KubeVirt sets and removes them as it goes.
constexpr std::array<std::string_view, 2> passing_labels{"kubevirt.io/migrationTargetNodeName",
                                                         "kubevirt.io/outdatedLauncherImage"};

constexpr std::array<std::pair<std::string_view, Escalation>, 4> words{
    {{"none", Escalation::none},
     {"auto-converge", Escalation::auto_converge},
     {"post-copy", Escalation::post_copy},
     {"pause", Escalation::pause}}};

bool switches_over(Escalation escalation) noexcept {
    return escalation == Escalation::post_copy || escalation == Escalation::pause;
}

bool has_all(const Labels& labels, const Labels& wanted) {
    return std::includes(labels.begin(), labels.end(), wanted.begin(), wanted.end());
}

/// At least one of them has all these labels.
bool any_has_all(const std::vector<Labels>& vmis, const Labels& wanted) {
    return std::any_of(vmis.begin(), vmis.end(),
                       [&wanted](const Labels& each) { return has_all(each, wanted); });
}

}  // namespace

std::string_view to_string(Escalation escalation) noexcept {
    const auto* const found =
        std::find_if(words.begin(), words.end(),
                     [escalation](const auto& one) { return one.second == escalation; });
    return found != words.end() ? found->first : "none";
}

std::optional<Escalation> escalation_named(std::string_view word) noexcept {
    const auto* const found = std::find_if(words.begin(), words.end(),
                                           [word](const auto& one) { return one.first == word; });
    return found != words.end() ? std::optional{found->second} : std::nullopt;
}

MigrationSettings escalated(MigrationSettings settings, Escalation escalation,
                            seconds completion_per_gib) {
    if (escalation == Escalation::auto_converge) {
        settings.allow_auto_converge = true;
    } else if (switches_over(escalation)) {
        settings.allow_post_copy = escalation == Escalation::post_copy;
        settings.allow_workload_disruption = true;
        settings.completion_per_gib = completion_per_gib;
    }
    return settings;
}

MigrationCourse judged_course(MigrationLoad load, const MigrationSettings& settings,
                              std::optional<milliseconds> downtime, Escalation escalation) {
    if (escalation != Escalation::post_copy) {
        return forecast(load, settings, downtime).optimistic;
    }
    load.bandwidth.least = std::min(load.bandwidth.least, careful_bandwidth);
    return forecast(load, settings, downtime).pessimistic;
}

bool is_forbidden(Escalation escalation, const MigrationOverrides& policy) noexcept {
    switch (escalation) {
        case Escalation::none:
            break;
        case Escalation::auto_converge:
            return policy.allow_auto_converge == false;
        case Escalation::post_copy:
            return policy.allow_post_copy == false || policy.allow_workload_disruption == false;
        case Escalation::pause:
            return policy.allow_workload_disruption == false;
    }
    return false;
}

std::optional<EscalatedMove> escalated_move(const MigrationLoad& load,
                                            const MigrationSettings& settings,
                                            std::optional<milliseconds> downtime,
                                            Escalation escalation, milliseconds left) {
    if (escalation == Escalation::none) {
        return std::nullopt;
    }
    const bool limited = settings.completion_per_gib > seconds::zero();
    const auto latest =
        limited ? std::min(settings.completion_per_gib, latest_switch) : latest_switch;
    const auto last = switches_over(escalation) ? latest : seconds{1};
    for (seconds each{1}; each <= last; ++each) {
        const auto course =
            judged_course(load, escalated(settings, escalation, each), downtime, escalation);
        if (course.moved() && course.duration <= left) {
            return EscalatedMove{
                .duration = course.duration,
                .completion_per_gib = switches_over(escalation) ? each : seconds::zero()};
        }
    }
    return std::nullopt;
}

Labels lasting_labels(const Labels& labels) {
    auto kept = labels;
    for (const auto name : passing_labels) {
        if (const auto found = kept.find(name); found != kept.end()) {
            kept.erase(found);
        }
    }
    return kept;
}

Result<PolicySelectors> selectors_of_one(const std::vector<MigrationPolicy>& policies,
                                         const ChosenVmi& vmi) {
    PolicySelectors chosen{.space = vmi.space, .vmi = lasting_labels(vmi.labels)};
    if (!chosen.vmi.contains(node_label) || !chosen.space.contains(space_label)) {
        return fail(Errc::refused, "expected the labels " + std::string{node_label} +
                                       " of the VMI and " + std::string{space_label} +
                                       " of its namespace, by which a policy can be its own");
    }
    if (any_has_all(vmi.others, chosen.vmi)) {
        return fail(Errc::refused,
                    "another VMI on its node has all its labels: a policy would be for both");
    }
    const auto matches = matching_policies(policies, vmi.labels, vmi.space);
    if (!matches.empty() && matches.front().labels >= chosen.space.size() + chosen.vmi.size()) {
        return fail(Errc::refused, "policy " + matches.front().policy->name +
                                       " names every label of it: no other one outranks that");
    }
    return chosen;
}

Result<PolicySelectors> selectors_of_one_anywhere(const std::vector<MigrationPolicy>& policies,
                                                  const ChosenVmi& vmi) {
    auto chosen = selectors_of_one(policies, vmi);
    if (!chosen) {
        return chosen;
    }
    auto anywhere = *chosen;
    anywhere.vmi.erase(std::string{node_label});
    const auto matches = matching_policies(policies, vmi.labels, vmi.space);
    const bool outranks =
        matches.empty() || matches.front().labels < anywhere.space.size() + anywhere.vmi.size();
    return outranks && !any_has_all(vmi.others, anywhere.vmi) ? anywhere : chosen;
}

Result<PolicyOfOne> policy_of_one(const std::vector<MigrationPolicy>& policies,
                                  const ChosenVmi& vmi, Escalation escalation) {
    auto selectors = selectors_of_one(policies, vmi);
    if (!selectors) {
        return fail(std::move(selectors.error()));
    }
    PolicyOfOne policy{.selectors = *std::move(selectors), .based_on = {}};
    const auto matches = matching_policies(policies, vmi.labels, vmi.space);
    if (!matches.empty()) {
        const auto& based_on = *matches.front().policy;
        if (is_forbidden(escalation, based_on.overrides)) {
            return fail(Errc::refused, "policy " + based_on.name + " forbids " +
                                           std::string{to_string(escalation)});
        }
        policy.based_on = based_on.name;
    }
    return policy;
}

}  // namespace scout::migration
