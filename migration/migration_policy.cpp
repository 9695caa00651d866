// SPDX-License-Identifier: Apache-2.0
#include "migration/migration_policy.h"

#include <algorithm>
#include <tuple>

namespace scout::migration {
namespace {

bool selects(const Labels& selector, const Labels& labels) {
    return std::all_of(selector.begin(), selector.end(), [&labels](const auto& asked) {
        const auto found = labels.find(asked.first);
        return found != labels.end() && found->second == asked.second;
    });
}

bool goes_before(const PolicyMatch& a, const PolicyMatch& b) {
    return std::tie(b.labels, b.vmi_labels, a.policy->name) <
           std::tie(a.labels, a.vmi_labels, b.policy->name);
}

}  // namespace

std::vector<PolicyMatch> matching_policies(const std::vector<MigrationPolicy>& policies,
                                           const Labels& vmi, const Labels& space) {
    std::vector<PolicyMatch> matches;
    for (const auto& policy : policies) {
        if (policy.selectors && selects(policy.selectors->space, space) &&
            selects(policy.selectors->vmi, vmi)) {
            const auto& [of_space, of_vmi] = *policy.selectors;
            matches.push_back({.policy = &policy,
                               .labels = of_space.size() + of_vmi.size(),
                               .vmi_labels = of_vmi.size()});
        }
    }
    std::sort(matches.begin(), matches.end(), goes_before);
    return matches;
}

}  // namespace scout::migration
