// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "cluster/policy_lint.h"
#include "kube/objects/kubevirt.h"
#include "migration/migration_policy.h"

// One MigrationPolicy by itself, for policy_lint.cpp.

namespace scout::cluster {

/// Where a policy stands.
struct PolicyPlace {
    std::string file;  ///< empty: in the cluster
    std::size_t line = 0;
    std::string policy;

    [[nodiscard]] PolicyFinding finding(std::string_view code, LintSeverity severity,
                                        std::string text) const {
        return {.file = file,
                .line = line,
                .policy = policy,
                .code = code,
                .severity = severity,
                .text = std::move(text)};
    }
    [[nodiscard]] std::string text() const {
        return file.empty() ? "the cluster"
                            : file + (line == 0 ? "" : ", line " + std::to_string(line));
    }
};

struct PolicyManifests {
    std::vector<PolicyFinding> findings;
    std::size_t policies = 0;
    /// Selectors of those that the API server would take.
    std::vector<std::pair<PolicyPlace, migration::PolicySelectors>> usable;
};

/// One document of the kind, a map; what is found is added.
void judge_policy(const std::string& file, std::size_t line, const boost::json::value& document,
                  PolicyManifests& out);

/// Those of one file.
[[nodiscard]] PolicyManifests read_policy_manifests(const std::string& file, std::string_view text);

/// Numbers that are taken and mean something else than they seem to. `kubevirt` may be null: its
/// gates are not known then.
[[nodiscard]] std::vector<PolicyFinding> judge_numbers(const PolicyPlace& place,
                                                       const kube::MigrationSettings& settings,
                                                       const kube::KubeVirt* kubevirt);

/// Why no object can have this label; empty: one can.
[[nodiscard]] std::string label_fault(std::string_view key, std::string_view value);

}  // namespace scout::cluster
