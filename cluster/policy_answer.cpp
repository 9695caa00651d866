// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_answer.h"

#include <algorithm>
#include <iterator>

#include "cluster/evacuation_rules.h"
#include "cluster/migration_numbers.h"
#include "cluster/node_state.h"
#include "cluster/tuned_policy.h"
#include "cluster/vm_placement.h"
#include "migration/migration_policy.h"

namespace scout::cluster {
namespace {

using migration::PolicyMatch;
using migration::SettingOrigin;
using Matches = std::vector<PolicyMatch>;

std::optional<std::string> first(const Matches& matches) {
    return matches.empty() ? std::nullopt : std::optional{matches.front().policy->name};
}

std::string why_stock(const Matches& stock, std::size_t policies) {
    if (stock.empty()) {
        return policies == 0 ? "there are no MigrationPolicies"
                             : "no MigrationPolicy chooses it: each label must be there with the "
                               "very value";
    }
    const auto& chosen = *stock[0].policy;
    auto text = chosen.name + " chooses it by " +
                to_text(chosen.selectors.value_or(migration::PolicySelectors{}));
    if (stock.size() > 1) {
        const auto& next = stock[1];
        const char* than = stock[0].labels != next.labels ? ", by more labels than "
                           : stock[0].vmi_labels != next.vmi_labels
                               ? ", by more of the VMI's than "
                               : ", and has a lower name than ";
        text += than + next.policy->name;
    }
    return text;
}

bool has_empty_value(const migration::MigrationPolicy& policy) {
    const auto is_empty = [](const auto& label) { return label.second.empty(); };
    if (!policy.selectors) {
        return false;
    }
    const auto& [space, vmi] = *policy.selectors;
    return std::any_of(space.begin(), space.end(), is_empty) ||
           std::any_of(vmi.begin(), vmi.end(), is_empty);
}

/// Why the proposal's rule chooses another one.
std::string why_differs(const Matches& stock, const Matches& proposed) {
    const auto& other = *proposed.front().policy;
    auto text = "; by the rule of the proposal it would be " + other.name + ", for there ";
    const bool matches = std::any_of(stock.begin(), stock.end(), [&other](const auto& match) {
        return match.policy->name == other.name;
    });
    if (!matches && has_empty_value(other)) {
        return text + "an empty value stands for any value";
    }
    return text + "lower label keys go before higher ones";
}

const kube::Labels* space_of(const Objects& objects, const kube::Vmi& vmi) {
    const auto found = std::find_if(
        objects.namespaces.begin(), objects.namespaces.end(),
        [&vmi](const auto& space) { return space.meta.name == vmi.meta.space.view(); });
    return found == objects.namespaces.end() ? nullptr : &found->labels;
}

using Value = decltype(NumberInForce::value);

template <class Number>
Value value_of(std::optional<Number> number) {
    return number ? Value{static_cast<std::int64_t>(*number)} : Value{};
}

/// Numbers of the KubeVirt object alone.
void add_cluster_numbers(const kube::KubeVirt* kubevirt, std::vector<NumberInForce>& out) {
    static const kube::MigrationSettings nothing;
    const auto& said = kubevirt == nullptr ? nothing : kubevirt->migrations;
    const auto origin = [](bool given) {
        return given ? SettingOrigin::kubevirt : SettingOrigin::built_in;
    };
    out.push_back(
        {"disableTLS", said.disable_tls.value_or(false), origin(said.disable_tls.has_value())});
    out.push_back({"network", said.network.empty() ? Value{} : Value{said.network.str()},
                   origin(!said.network.empty())});
    const auto limits = move_limits(kubevirt);
    out.push_back({"parallelMigrationsPerCluster", std::int64_t{limits.in_cluster},
                   origin(said.per_cluster.has_value())});
    out.push_back({"parallelOutboundMigrationsPerNode", std::int64_t{limits.outbound},
                   origin(said.outbound_per_node.has_value())});
}

std::vector<NumberInForce> numbers_of(const migration::MigrationOverrides* policy,
                                      std::uint64_t memory, const kube::KubeVirt* kubevirt) {
    const auto given = overrides_of(kubevirt);
    const auto in_force = migration::settings_in_force(given, policy);
    const auto from = migration::setting_origins(given, policy);
    auto out = policy_numbers(given, policy);
    out.insert(
        std::prev(out.end()),
        {"completionTimeoutSeconds",
         memory == 0 ? Value{} : Value{std::int64_t{completion_limit(in_force, memory).count()}},
         from.completion_per_gib});
    out.push_back(
        {"progressTimeoutSeconds", std::int64_t{in_force.progress.count()}, from.progress});
    add_cluster_numbers(kubevirt, out);
    return out;
}

void add_notes(const Objects& objects, const kube::Vmi& vmi, const kube::KubeVirt* kubevirt,
               std::uint64_t memory, PolicyAnswer& answer) {
    auto& notes = answer.notes;
    if (answer.uncertain) {
        notes.push_back("the namespace " + vmi.meta.space.str() +
                        " is not among the objects, and a policy chooses by labels of namespaces: "
                        "it is taken to have none");
    }
    if (kubevirt == nullptr) {
        notes.push_back(
            "no KubeVirt object in force is among the objects: KubeVirt's defaults "
            "are shown");
    }
    if (memory == 0) {
        notes.push_back("its memory is not told, and so neither is its completion time-out");
    }
    if (!lists_gate(kubevirt, "MigrationStallDetection")) {
        notes.push_back(
            "maxDowntimeMs is not obeyed: the feature gate MigrationStallDetection is "
            "off");
    }
    if (vmi.migration && !answer.recorded.empty() &&
        answer.recorded != answer.stock.value_or(std::string{})) {
        const bool gone = std::none_of(
            objects.policies.begin(), objects.policies.end(),
            [&answer](const auto& policy) { return policy.meta.name == answer.recorded; });
        notes.push_back("its last migration went by " + answer.recorded +
                        (gone ? ", which is gone" : ": policies or labels have changed since"));
    }
}

/// Whether the policy that is applied is one with an expiry.
void add_tune(const Objects& objects, PolicyAnswer& answer) {
    const auto found =
        std::find_if(objects.policies.begin(), objects.policies.end(),
                     [&answer](const auto& policy) { return policy.meta.name == answer.stock; });
    if (found == objects.policies.end() || !is_tuned(*found)) {
        return;
    }
    answer.stock_ends = tune_end(*found);
    answer.notes.push_back(
        found->meta.name +
        (answer.stock_ends
             ? " is a tuned policy: an aggregator removes it after " + rfc3339(*answer.stock_ends)
             : " is a tuned policy without a time that can be read: nobody removes it by itself"));
}

}  // namespace

std::vector<NumberInForce> policy_numbers(const migration::MigrationOverrides& kubevirt,
                                          const migration::MigrationOverrides* policy) {
    const auto in_force = migration::settings_in_force(kubevirt, policy);
    const auto from = migration::setting_origins(kubevirt, policy);
    return {{"allowAutoConverge", in_force.allow_auto_converge, from.allow_auto_converge},
            {"allowPostCopy", in_force.allow_post_copy, from.allow_post_copy},
            {"allowWorkloadDisruption", in_force.allow_workload_disruption,
             from.allow_workload_disruption},
            {"bandwidthMiBps", value_of(migration::bandwidth_limit(in_force.bandwidth)),
             from.bandwidth},
            {"completionTimeoutPerGiB", std::int64_t{in_force.completion_per_gib.count()},
             from.completion_per_gib},
            {"maxDowntimeMs", std::int64_t{in_force.max_downtime.count()}, from.max_downtime}};
}

std::map<std::string_view, migration::Labels> space_labels(const Objects& objects) {
    std::map<std::string_view, migration::Labels> spaces;
    for (const auto& space : objects.namespaces) {
        spaces.emplace(space.meta.name, plain_labels(space.labels));
    }
    return spaces;
}

PolicyAnswer policy_answer(const Objects& objects, const kube::Vmi& vmi) {
    const auto policies = plain_policies(objects.policies);
    const auto* const space = space_of(objects, vmi);
    const auto labels = plain_labels(vmi.labels);
    const auto of_space = space == nullptr ? migration::Labels{} : plain_labels(*space);
    const auto stock = migration::matching_policies(policies, labels, of_space);
    const auto proposed = migration::matching_policies_as_proposed(policies, labels, of_space);
    const auto* const kubevirt = kubevirt_in_force(objects.kubevirts);
    const auto memory = memory_of(vmi);

    PolicyAnswer answer{.vmi = full_name(vmi.meta),
                        .stock = first(stock),
                        .proposal = first(proposed),
                        .why = why_stock(stock, policies.size()),
                        .effective = {},
                        .matching = {},
                        .recorded = vmi.migration ? vmi.migration->policy.str() : std::string{},
                        .notes = {}};
    if (!proposed.empty() && answer.stock != answer.proposal) {
        answer.why += why_differs(stock, proposed);
    }
    for (const auto& match : stock) {
        answer.matching.push_back(match.policy->name);
    }
    answer.uncertain = space == nullptr && migration::go_by_namespaces(policies);
    answer.effective =
        numbers_of(stock.empty() ? nullptr : &stock.front().policy->overrides, memory, kubevirt);
    add_tune(objects, answer);
    add_notes(objects, vmi, kubevirt, memory, answer);
    return answer;
}

}  // namespace scout::cluster
