// SPDX-License-Identifier: Apache-2.0
#include "cluster/policy_lint.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cluster/dump_files.h"
#include "cluster/migration_numbers.h"
#include "cluster/move_policy.h"
#include "cluster/name_list.h"
#include "cluster/node_state.h"
#include "cluster/policy_answer.h"
#include "cluster/policy_manifest.h"
#include "cluster/tuned_policy.h"

namespace scout::cluster {
namespace {

/// Policies that stand for others to be compared with.
struct Placed {
    PolicyPlace place;
    migration::PolicySelectors selectors;
};

void tell_loser(const Placed& policy, const std::string& winner,
                std::vector<PolicyFinding>& findings) {
    findings.push_back(
        policy.place.finding("equal-selectors", LintSeverity::warn,
                             "chooses " + to_text(policy.selectors) + ", as " + winner + " does"));
    findings.push_back(policy.place.finding(
        "unreachable", LintSeverity::warn,
        "is never applied: of policies with equal selectors KubeVirt takes that of the lowest "
        "name, " +
            winner + "; give it another label to choose by, or remove it"));
}

/// KubeVirt takes one of them always, whatever the VM, and says nothing.
void compare_selectors(const std::vector<Placed>& policies, std::vector<PolicyFinding>& findings) {
    std::map<std::tuple<migration::Labels, migration::Labels>, std::vector<const Placed*>> groups;
    std::map<std::string_view, const Placed*> names;
    for (const auto& each : policies) {
        const auto [first, fresh] = names.try_emplace(each.place.policy, &each);
        if (fresh) {
            groups[{each.selectors.space, each.selectors.vmi}].push_back(&each);
        } else {
            findings.push_back(each.place.finding("same-name", LintSeverity::warn,
                                                  "another policy of this name is in " +
                                                      first->second->place.text() +
                                                      ": the one that is applied last holds"));
        }
    }
    for (const auto& [selectors, group] : groups) {
        const auto* wins = group.front();
        for (const auto* each : group) {
            wins = each->place.policy < wins->place.policy ? each : wins;
        }
        for (const auto* each : group) {
            if (each != wins) {
                tell_loser(*each, wins->place.policy, findings);
            }
        }
    }
}

/// Why no object can have such labels; empty: one can.
std::string impossible_label(const migration::Labels& labels) {
    for (const auto& [key, value] : labels) {
        if (auto why = label_fault(key, value); !why.empty()) {
            return why;
        }
    }
    return {};
}

void find_impossible(const std::vector<Placed>& policies, std::vector<PolicyFinding>& findings) {
    for (const auto& each : policies) {
        auto why = impossible_label(each.selectors.vmi);
        why = why.empty() ? impossible_label(each.selectors.space) : why;
        if (!why.empty()) {
            findings.push_back(
                each.place.finding("unreachable", LintSeverity::warn, "is never applied: " + why));
        }
    }
}

bool is_same(const migration::Labels& one, const kube::Labels& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const auto& a, const auto& b) {
                          return a.first == b.first.view() && a.second == b.second.view();
                      });
}

/// The same of one policy beside those of the cluster.
void compare_with(const std::vector<const kube::MigrationPolicy*>& others, const Placed& policy,
                  std::vector<PolicyFinding>& findings) {
    std::vector<std::string> equal;
    for (const auto* each : others) {
        if (each->meta.name != policy.place.policy && each->selectors && !is_move_policy(*each) &&
            is_same(policy.selectors.space, each->selectors->space) &&
            is_same(policy.selectors.vmi, each->selectors->vmi)) {
            equal.push_back(each->meta.name);
        }
    }
    std::sort(equal.begin(), equal.end());
    if (equal.empty()) {
        return;
    }
    if (equal.front() < policy.place.policy) {
        tell_loser(policy, equal.front(), findings);
        return;
    }
    findings.push_back(policy.place.finding(
        "equal-selectors", LintSeverity::warn,
        "takes the place of " + first_names(equal, 3) +
            ", never applied while it is there: of policies with equal selectors KubeVirt takes "
            "that of the lowest name"));
}

/// Names of the policies that choose a VMI, whether or not another one goes before.
std::set<std::string_view> choosing(const Objects& objects,
                                    const std::vector<migration::MigrationPolicy>& policies) {
    auto spaces = space_labels(objects);
    std::set<std::string_view> chosen;
    for (const auto& vmi : objects.vmis) {
        const auto& of_space = spaces[vmi.meta.space.view()];
        for (const auto& match :
             migration::matching_policies(policies, plain_labels(vmi.labels), of_space)) {
            chosen.insert(match.policy->name);
        }
    }
    return chosen;
}

/// Reads manifests, and keeps of them what is compared in the end.
class Linter {
public:
    explicit Linter(const DumpLimits& limits) : limits_(limits) {}

    void read(const std::filesystem::path& path) {
        ++lint_.files;
        auto text = read_dump_file(path, limits_.file_bytes);
        if (!text) {
            lint_.findings.push_back(PolicyPlace{.file = path.string(), .policy = {}}.finding(
                "unreadable", LintSeverity::refused, std::move(text.error().message)));
            return;
        }
        auto manifests = read_policy_manifests(path.string(), *text);
        lint_.policies += manifests.policies;
        std::move(manifests.findings.begin(), manifests.findings.end(),
                  std::back_inserter(lint_.findings));
        for (auto& [place, selectors] : manifests.usable) {
            placed_.push_back({.place = std::move(place), .selectors = std::move(selectors)});
        }
    }
    [[nodiscard]] PolicyLint take() {
        find_impossible(placed_, lint_.findings);
        compare_selectors(placed_, lint_.findings);
        return std::move(lint_);
    }

private:
    DumpLimits limits_;
    PolicyLint lint_;
    std::vector<Placed> placed_;
};

/// One with an expiry: others do not hold until then, or for ever.
std::optional<PolicyFinding> judge_tune(const PolicyPlace& place,
                                        const kube::MigrationPolicy& policy) {
    if (!is_tuned(policy)) {
        return std::nullopt;
    }
    if (const auto end = tune_end(policy)) {
        return place.finding("tuned", LintSeverity::warn,
                             "holds until " + rfc3339(*end) + ", then an aggregator removes it");
    }
    return place.finding("tune-expiry", LintSeverity::warn,
                         "is never removed by itself: expected a time such as "
                         "2026-11-30T18:00:00Z in its annotation " +
                             std::string{expires_annotation} + ", found " +
                             (policy.expires.empty() ? "none" : "'" + policy.expires + "'"));
}

}  // namespace

std::string_view to_string(LintSeverity severity) noexcept {
    return severity == LintSeverity::refused ? "refused" : "warn";
}

Result<PolicyLint> lint_policy_files(const std::vector<std::filesystem::path>& paths,
                                     const DumpProgress& progress, const DumpLimits& limits) {
    const auto files = dump_files(paths, limits.files);
    if (!files) {
        return fail(files.error());
    }
    Linter linter(limits);
    for (std::size_t i = 0; i < files->size(); ++i) {
        if (progress) {
            progress(i + 1, files->size());
        }
        linter.read((*files)[i]);
    }
    return linter.take();
}

std::vector<PolicyFinding> lint_new_policy(
    const boost::json::value& policy, const std::vector<const kube::MigrationPolicy*>& others) {
    PolicyManifests read;
    judge_policy({}, 0, policy, read);
    std::vector<Placed> placed;
    placed.reserve(read.usable.size());
    for (auto& [place, selectors] : read.usable) {
        placed.push_back({.place = std::move(place), .selectors = std::move(selectors)});
    }
    find_impossible(placed, read.findings);
    for (const auto& each : placed) {
        compare_with(others, each, read.findings);
    }
    return std::move(read.findings);
}

PolicyLint lint_policies(const Objects& objects) {
    PolicyLint lint{.findings = {}, .policies = objects.policies.size()};
    auto plain = plain_policies(objects.policies);
    const auto* const kubevirt = kubevirt_in_force(objects.kubevirts);
    const auto chosen = choosing(objects, plain);
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        auto& policy = plain[i];
        const PolicyPlace place{.file = {}, .policy = policy.name};
        for (auto& finding : judge_numbers(place, objects.policies[i].settings, kubevirt)) {
            lint.findings.push_back(std::move(finding));
        }
        if (auto finding = judge_tune(place, objects.policies[i])) {
            lint.findings.push_back(*std::move(finding));
        }
        if (!policy.selectors) {
            lint.findings.push_back(place.finding("no-selectors", LintSeverity::warn,
                                                  "has no selectors: it is never applied"));
            continue;
        }
        if (!chosen.contains(policy.name)) {
            lint.findings.push_back(
                place.finding("chooses-none", LintSeverity::warn,
                              "chooses no VMI that there is: " + to_text(*policy.selectors)));
        }
        placed.push_back({.place = place, .selectors = *std::move(policy.selectors)});
    }
    find_impossible(placed, lint.findings);
    compare_selectors(placed, lint.findings);
    return lint;
}

}  // namespace scout::cluster
