// SPDX-License-Identifier: Apache-2.0
#include "migration/migration_policy.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace scout::migration {
namespace {

using Selects = bool (*)(const std::string& asked, const std::string& found);

bool is_equal(const std::string& asked, const std::string& found) {
    return asked == found;
}

bool is_equal_or_any(const std::string& asked, const std::string& found) {
    return asked.empty() || asked == found;
}

bool selects(const Labels& selector, const Labels& labels, Selects selects_value) {
    return std::all_of(selector.begin(), selector.end(), [&labels, selects_value](const auto& one) {
        const auto found = labels.find(one.first);
        return found != labels.end() && selects_value(one.second, found->second);
    });
}

std::vector<PolicyMatch> matches(const std::vector<MigrationPolicy>& policies, const Labels& vmi,
                                 const Labels& space, Selects selects_value) {
    std::vector<PolicyMatch> found;
    for (const auto& policy : policies) {
        if (policy.selectors && selects(policy.selectors->space, space, selects_value) &&
            selects(policy.selectors->vmi, vmi, selects_value)) {
            const auto& [of_space, of_vmi] = *policy.selectors;
            found.push_back({.policy = &policy,
                             .labels = of_space.size() + of_vmi.size(),
                             .vmi_labels = of_vmi.size()});
        }
    }
    return found;
}

bool goes_before(const PolicyMatch& a, const PolicyMatch& b) {
    return std::tie(b.labels, b.vmi_labels, a.policy->name) <
           std::tie(a.labels, a.vmi_labels, b.policy->name);
}

/// The keys in their order; of a key that both selectors name the VMI's is first.
using Keys = std::vector<std::pair<std::string_view, bool>>;
Keys keys_of(const MigrationPolicy& policy) {
    Keys keys;
    if (!policy.selectors) {
        return keys;
    }
    for (const auto& [key, value] : policy.selectors->vmi) {
        keys.emplace_back(key, false);
    }
    for (const auto& [key, value] : policy.selectors->space) {
        keys.emplace_back(key, true);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

/// First the keys alone, and only if all are equal where they are.
bool goes_before_as_proposed(const PolicyMatch& a, const PolicyMatch& b) {
    if (a.labels != b.labels) {
        return a.labels > b.labels;
    }
    const auto of_a = keys_of(*a.policy);
    const auto of_b = keys_of(*b.policy);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        if (of_a[i].first != of_b[i].first) {
            return of_a[i].first < of_b[i].first;
        }
    }
    return std::tie(of_a, a.policy->name) < std::tie(of_b, b.policy->name);
}

std::string label_list(const char* of, const Labels& labels) {
    std::string out;
    for (const auto& [key, value] : labels) {
        out += out.empty() ? std::string{of} + (labels.size() == 1 ? " " : "s ") : ", ";
        out += key;
        out += "=" + value;
    }
    return out;
}

}  // namespace

std::string to_text(const PolicySelectors& selectors) {
    const auto vmi = label_list("VMI label", selectors.vmi);
    const auto space = label_list("namespace label", selectors.space);
    if (vmi.empty() && space.empty()) {
        return "everything";
    }
    return vmi + (vmi.empty() || space.empty() ? "" : " and ") + space;
}

bool go_by_namespaces(const std::vector<MigrationPolicy>& policies) noexcept {
    return std::any_of(policies.begin(), policies.end(), [](const MigrationPolicy& policy) {
        return policy.selectors && !policy.selectors->space.empty();
    });
}

std::vector<PolicyMatch> matching_policies(const std::vector<MigrationPolicy>& policies,
                                           const Labels& vmi, const Labels& space) {
    auto found = matches(policies, vmi, space, is_equal);
    std::sort(found.begin(), found.end(), goes_before);
    return found;
}

std::vector<PolicyMatch> matching_policies_as_proposed(const std::vector<MigrationPolicy>& policies,
                                                       const Labels& vmi, const Labels& space) {
    auto found = matches(policies, vmi, space, is_equal_or_any);
    std::sort(found.begin(), found.end(), goes_before_as_proposed);
    return found;
}

}  // namespace scout::migration
