// SPDX-License-Identifier: Apache-2.0
#include "cluster/tune_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cluster/migration_numbers.h"
#include "cluster/move_policy.h"
#include "cluster/node_state.h"
#include "cluster/policy_body.h"
#include "cluster/policy_manifest.h"
#include "cluster/tuned_policy.h"
#include "cluster/vm_placement.h"
#include "migration/escalation.h"
#include "migration/quantity.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::PolicyMatch;

const kube::MigrationPolicy* find_policy(const Objects& objects, std::string_view name) {
    const auto found =
        std::find_if(objects.policies.begin(), objects.policies.end(),
                     [name](const auto& policy) { return policy.meta.name == name; });
    return found == objects.policies.end() ? nullptr : &*found;
}

void override_settings(const TuneFields& fields, kube::MigrationSettings& settings) {
    if (!fields.bandwidth.empty()) {
        settings.bandwidth = kube::SharedText{fields.bandwidth};
    }
    const auto take = [](const auto& said, auto& setting) {
        if (said) {
            setting = said;
        }
    };
    take(fields.completion_seconds_per_gib, settings.completion_seconds_per_gib);
    take(fields.auto_converge, settings.allow_auto_converge);
    take(fields.post_copy, settings.allow_post_copy);
    take(fields.workload_disruption, settings.allow_workload_disruption);
}

/// Why `winner` is applied rather than `own`.
std::string why_outranked(const PolicyMatch& winner, const PolicyMatch& own) {
    if (winner.labels != own.labels) {
        return "names more labels: " + std::to_string(winner.labels) + ", this one " +
               std::to_string(own.labels);
    }
    if (winner.vmi_labels != own.vmi_labels) {
        return "names as many labels, and more of the VMI's: " + std::to_string(winner.vmi_labels) +
               ", this one " + std::to_string(own.vmi_labels);
    }
    return "names as many labels, and has a lower name: a --name below it would win";
}

std::string quoted_list(const std::set<std::string>& names) {
    std::string out;
    for (const auto& name : names) {
        out += (out.empty() ? "" : ", ") + (name.empty() ? "none" : name);
    }
    return out;
}

class Planner {
public:
    Planner(const Objects& objects, TuneWish wish)
        : objects_(objects), policies_(lasting_policies(objects.policies)) {
        policies_.push_back({.name = wish.name, .selectors = wish.selectors, .overrides = {}});
        plan_.wish = std::move(wish);
    }

    [[nodiscard]] TunePlan take() {
        auto spaces = space_labels(objects_);
        for (const auto& vmi : objects_.vmis) {
            judge(vmi, spaces[vmi.meta.space.view()]);
        }
        compare();
        add_notes();
        for (auto& [name, policy] : outranking_) {
            plan_.outranked_by.push_back(std::move(policy));
        }
        return std::move(plan_);
    }

private:
    void judge(const kube::Vmi& vmi, const migration::Labels& space) {
        const auto matches =
            migration::matching_policies(policies_, plain_labels(vmi.labels), space);
        const auto own = std::find_if(matches.begin(), matches.end(), [this](const auto& match) {
            return match.policy == &policies_.back();
        });
        if (own == matches.end()) {
            return;
        }
        if (own == matches.begin()) {
            plan_.vms.push_back(full_name(vmi.meta));
            ++displaced_[matches.size() > 1 ? matches[1].policy->name : std::string{}];
            under_way_ += vmi.migration && vmi.migration->is_under_way() ? 1 : 0;
            return;
        }
        auto& winner = outranking_[matches.front().policy->name];
        winner.policy = matches.front().policy->name;
        winner.why = why_outranked(matches.front(), *own);
        winner.vms.push_back(full_name(vmi.meta));
    }
    void compare() {
        kube::MigrationPolicy own;
        if (displaced_.size() == 1) {
            if (const auto* base = find_policy(objects_, displaced_.begin()->first)) {
                plan_.based_on = base->meta.name;
                plan_.based_on_version = base->meta.version;
                own.settings = base->settings;
            }
        }
        override_settings(plan_.wish.fields, own.settings);
        const auto kubevirt = overrides_of(kubevirt_in_force(objects_.kubevirts));
        const auto overrides = plain_policy(own).overrides;
        const auto after = policy_numbers(kubevirt, &overrides);
        for (const auto& [name, vms] : displaced_) {
            DisplacedPolicy displaced{.policy = name, .vms = vms, .changes = {}};
            const auto* const policy = find_policy(objects_, name);
            const auto of_before = policy == nullptr ? migration::MigrationOverrides{}
                                                     : plain_policy(*policy).overrides;
            const auto before = policy_numbers(kubevirt, policy == nullptr ? nullptr : &of_before);
            for (std::size_t i = 0; i < after.size(); ++i) {
                if (before[i].value != after[i].value) {
                    displaced.changes.push_back({.before = before[i], .after = after[i]});
                }
            }
            plan_.displaced.push_back(std::move(displaced));
        }
        for (auto& finding : judge_numbers({.file = {}, .policy = plan_.wish.name}, own.settings,
                                           kubevirt_in_force(objects_.kubevirts))) {
            plan_.notes.push_back(std::move(finding.text));
        }
    }
    void add_notes() {
        auto& notes = plan_.notes;
        if (displaced_.size() > 1) {
            std::set<std::string> names;
            for (const auto& [name, vms] : displaced_) {
                names.insert(name);
            }
            notes.push_back(
                "these VMs go by different policies (" + quoted_list(names) +
                "), so nothing is copied of them: what you did not name, and what they say that "
                "virt-scout does not know, is as the KubeVirt object has it meanwhile");
        } else if (plan_.based_on.empty() && !plan_.vms.empty()) {
            notes.push_back(
                "no policy is applied to these VMs now: what you did not name stays as the "
                "KubeVirt object has it");
        }
        if (under_way_ > 0) {
            notes.push_back(std::to_string(under_way_) +
                            " of these VMs are being migrated: a migration that was handed off "
                            "keeps to the policy of then");
        }
        if (kubevirt_in_force(objects_.kubevirts) == nullptr) {
            notes.push_back(
                "no KubeVirt object in force is among the objects: its defaults are shown");
        }
    }

    const Objects& objects_;
    std::vector<migration::MigrationPolicy> policies_;  ///< the one that is wished for is the last
    TunePlan plan_;
    std::map<std::string, std::size_t> displaced_;  ///< VMs by the policy that they go by now
    std::map<std::string, OutrankingPolicy> outranking_;
    std::size_t under_way_ = 0;
};

/// VMs that a policy by these labels would be for as well.
std::string joining(const Objects& objects, const kube::Vmi& vmi, const migration::Labels& labels) {
    std::string names;
    for (const auto& other : objects.vmis) {
        const auto of_other = plain_labels(other.labels);
        if (other.meta.space == vmi.meta.space && other.meta.uid != vmi.meta.uid &&
            std::includes(of_other.begin(), of_other.end(), labels.begin(), labels.end())) {
            names += (names.empty() ? "" : ", ") + full_name(other.meta);
        }
    }
    return names;
}

void set_fields(const TuneFields& fields, json::object& spec) {
    if (!fields.bandwidth.empty()) {
        spec["bandwidthPerMigration"] = fields.bandwidth;
    }
    const auto take = [&spec](const char* name, const auto& said) {
        if (said) {
            spec[name] = *said;
        }
    };
    take("completionTimeoutPerGiB", fields.completion_seconds_per_gib);
    take("allowAutoConverge", fields.auto_converge);
    take("allowPostCopy", fields.post_copy);
    take("allowWorkloadDisruption", fields.workload_disruption);
}

}  // namespace

Result<TuneChoice> choose_alone(const Objects& objects, const kube::Vmi& vmi) {
    const auto spaces = space_labels(objects);
    const auto space = spaces.find(vmi.meta.space.view());
    if (space == spaces.end()) {
        return fail(Errc::not_found, "the namespace " + vmi.meta.space.str() +
                                         " is not among the objects: its labels are needed");
    }
    migration::ChosenVmi chosen{
        .labels = plain_labels(vmi.labels), .space = space->second, .others = {}};
    for (const auto& other : objects.vmis) {
        if (other.meta.space == vmi.meta.space && other.meta.uid != vmi.meta.uid) {
            chosen.others.push_back(plain_labels(other.labels));
        }
    }
    const auto join = joining(objects, vmi, migration::lasting_labels(chosen.labels));
    if (!join.empty()) {
        return fail(Errc::refused, full_name(vmi.meta) + " has no label of its own: " + join +
                                       " would go by the same policy; name labels with --selector "
                                       "if that is what you want, or give the VM another label");
    }
    auto selectors =
        migration::selectors_of_one_anywhere(lasting_policies(objects.policies), chosen);
    if (!selectors) {
        return fail(std::move(selectors.error()).within(full_name(vmi.meta)));
    }
    TuneChoice choice{.selectors = *std::move(selectors), .note = {}};
    if (choice.selectors.vmi.contains("kubevirt.io/nodeName")) {
        choice.note = "its node is among the labels that tell " + full_name(vmi.meta) +
                      " from others, or that outrank another policy: it holds until the VM leaves "
                      "node " +
                      vmi.node.str();
    }
    return choice;
}

Result<TunePlan> plan_tune(const Objects& objects, TuneWish wish) {
    if (!wish.fields.bandwidth.empty()) {
        if (auto bandwidth = migration::Quantity::parse(wish.fields.bandwidth); !bandwidth) {
            return fail(std::move(bandwidth.error()).within("--bandwidth"));
        }
    }
    if (find_policy(objects, wish.name) != nullptr) {
        return fail(Errc::refused, "a MigrationPolicy " + wish.name +
                                       " is there already: choose another --name, or end that one");
    }
    return Planner(objects, std::move(wish)).take();
}

std::string tune_policy_body(const TuneWish& wish, WallTime end, json::object spec) {
    set_fields(wish.fields, spec);
    json::object labels;
    labels[tune_label] = "true";
    json::object annotations;
    annotations[expires_annotation] = rfc3339(end);
    return policy_body({{"name", wish.name},
                        {"labels", std::move(labels)},
                        {"annotations", std::move(annotations)}},
                       wish.selectors, std::move(spec));
}

std::vector<TunedPolicy> tuned_policies(const Objects& objects) {
    std::vector<TunedPolicy> tuned;
    for (const auto& policy : objects.policies) {
        if (is_tuned(policy)) {
            tuned.push_back({.name = policy.meta.name,
                             .end = tune_end(policy),
                             .selectors = plain_policy(policy).selectors});
        }
    }
    return tuned;
}

}  // namespace scout::cluster
