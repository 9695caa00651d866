// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "migration/labels.h"

/// Node selector terms, as pods ask for nodes with them: their grammar as the API server checks it
/// (1.36), and their meaning as the scheduler has it. Pure; any thread.
namespace scout::migration {

/// By which a pod is aimed at one node: the kubelet gives it to its own Node object.
inline constexpr std::string_view hostname_label = "kubernetes.io/hostname";

/// One of the matchExpressions, or of the matchFields.
struct NodeRequirement {
    std::string key;
    std::string op;  ///< In, NotIn, Exists, DoesNotExist, Gt, Lt; of fields In, NotIn
    std::vector<std::string> values;

    friend bool operator==(const NodeRequirement&, const NodeRequirement&) = default;
};

/// All of its requirements must be met. Without any it matches no node at all.
struct NodeSelectorTerm {
    std::vector<NodeRequirement> expressions;  ///< of labels
    std::vector<NodeRequirement> fields;       ///< of metadata.name alone

    [[nodiscard]] bool empty() const noexcept { return expressions.empty() && fields.empty(); }

    friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

/// What the API server would refuse in a pod, in its words, each with the path:
/// "TERM.matchFields[0] .key: Invalid value: …". Also what it takes and the scheduler then cannot
/// read, a Gt or Lt of no number. Empty: nothing is wrong with it.
[[nodiscard]] std::vector<std::string> term_faults(const NodeSelectorTerm& term,
                                                   std::string_view path);

/// By the scheduler. A term that it cannot read, like an empty one, matches nothing; of fields
/// others than metadata.name are as if they were empty.
[[nodiscard]] bool matches(const NodeSelectorTerm& term, const Labels& labels,
                           std::string_view node);
/// One of the alternatives does. Without any none does.
[[nodiscard]] bool matches(const std::vector<NodeSelectorTerm>& terms, const Labels& labels,
                           std::string_view node);

/// What asks for `terms` and for `added`: its requirements in each of the alternatives, none twice,
/// or in one of their own where there are none. Empty alternatives stay empty, and so do those that
/// there were none of if `added` is empty, which is no wish.
[[nodiscard]] std::vector<NodeSelectorTerm> merged(std::vector<NodeSelectorTerm> terms,
                                                   const NodeSelectorTerm& added);

}  // namespace scout::migration
