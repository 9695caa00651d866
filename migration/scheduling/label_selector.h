// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/labels.h"
#include "migration/node_selector.h"

/// Label selectors, as pods choose other pods with them (metav1.LabelSelector). Pure; any thread.
namespace scout::migration::scheduling {

/// One of the matchExpressions: In, NotIn, Exists, DoesNotExist. Written like those of nodes.
using LabelRequirement = NodeRequirement;

/// All of it must be met. Without anything it matches everything.
struct LabelSelector {
    Labels labels;  ///< matchLabels
    std::vector<LabelRequirement> expressions;

    [[nodiscard]] bool empty() const noexcept { return labels.empty() && expressions.empty(); }

    friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

/// What the API server would refuse, one clause; none: nothing is wrong with it. One that is wrong
/// means nothing to the scheduler, which gives up the whole pod then.
[[nodiscard]] std::optional<std::string> fault_of(const LabelSelector& selector);

/// False for one that is wrong.
[[nodiscard]] bool matches(const LabelSelector& selector, const Labels& labels);

}  // namespace scout::migration::scheduling
