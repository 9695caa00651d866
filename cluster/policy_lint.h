// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "cluster/dump.h"
#include "cluster/objects.h"
#include "kube/objects/migration_policy.h"

/// What is wrong with MigrationPolicies before, or although, the API server takes them (dossier §7;
/// CRD and webhook of KubeVirt 1.9).
namespace scout::cluster {

enum class LintSeverity : std::uint8_t {
    warn,     ///< taken, and does not do what it says
    refused,  ///< by the API server, or by kubectl before
};
[[nodiscard]] std::string_view to_string(LintSeverity severity) noexcept;  // "warn", "refused"

struct PolicyFinding {
    std::string file;      ///< as given, or found below what was given; empty: of the cluster
    std::size_t line = 0;  ///< where its document begins; 0: not known
    std::string policy;    ///< name; empty: it has none
    std::string_view code;
    LintSeverity severity = LintSeverity::warn;
    std::string text;
};

/// In the order of files and documents; what is about several policies comes last.
struct PolicyLint {
    std::vector<PolicyFinding> findings;
    std::size_t policies = 0;  ///< that were looked at
    std::size_t files = 0;
};

/// Manifests as people write them: YAML as kubectl reads it (1.1, where a plain `yes` is no text),
/// or JSON; folders as for read_dump(). Objects of other kinds are passed over. Blocking. Errors:
/// those of dump_files().
[[nodiscard]] Result<PolicyLint> lint_policy_files(const std::vector<std::filesystem::path>& paths,
                                                   const DumpProgress& progress = {},
                                                   const DumpLimits& limits = {});

/// Policies that a cluster has already. Also told: those that choose no VMI there is.
[[nodiscard]] PolicyLint lint_policies(const Objects& objects);

/// One that is about to be taken, as JSON, a map, beside those that the cluster has: one of its
/// name is itself, and those of single moves stand for nothing. That it chooses no VMI is not told:
/// one may come.
[[nodiscard]] std::vector<PolicyFinding> lint_new_policy(
    const boost::json::value& policy, const std::vector<const kube::MigrationPolicy*>& others);

}  // namespace scout::cluster
