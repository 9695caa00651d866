// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/task.h"

namespace scout::aggregator {

/// What a user of the cluster wants to know, once it is clear that they may.
struct Question {
    enum class Kind : std::uint8_t {
        nodes,
        node,
        node_where,      ///< where host-model guests of that node may go
        upgrade_impact,  ///< of the node's last change of CPU
        vmis,            ///< of `space`, or of all namespaces
        vmi_where,
        vmi_why,  ///< what ended its last launcher, and who wanted its migrations
        pod_why,  ///< the same of one of its launchers
        vmi_protection,
        protections,  ///< of VMIs of `space`, or of all namespaces
        pressure,     ///< of nodes
        matrix,
        baseline,
    };

    Kind kind = Kind::nodes;
    std::string space;  ///< namespace; empty: all, or a kind that has none
    std::string name;   ///< of the node, the VMI or the pod; empty for kinds about many
    /// The query's parameters, decoded; few and short, but otherwise as the user wrote them.
    std::multimap<std::string, std::string> options;
    /// Else the answer names no node: they are numbered. Always true where the kind is about
    /// nodes.
    bool may_see_nodes = false;
    /// VMIs of all namespaces. Else an answer about nodes tells none.
    bool may_see_vmis = false;
};

/// Who answers them. Loop thread.
class Questions {
public:
    Questions() = default;
    virtual ~Questions() = default;
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;
    Questions(Questions&&) = delete;
    Questions& operator=(Questions&&) = delete;

    /// JSON text. Errors, and what the user gets: not_found 404, invalid 400, refused 403,
    /// unavailable 503, timed_out 504, any other 500.
    [[nodiscard]] virtual Task<Result<std::string>> answer(Question question) = 0;
};

}  // namespace scout::aggregator
