// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "cluster/objects.h"
#include "migration/labels.h"
#include "migration/migration_settings.h"

/// Which MigrationPolicy a VM's next migration goes by, and its numbers (dossier §7, §8). Pure.
namespace scout::cluster {

/// One number that is in force.
struct NumberInForce {
    std::string_view name;  ///< as KubeVirt has it, or with its unit: "bandwidthMiBps"
    /// None: no limit, or KubeVirt's own network.
    std::variant<std::monostate, bool, std::int64_t, std::string> value;
    migration::SettingOrigin origin = migration::SettingOrigin::built_in;
};

/// Those that a policy may set, of whatever VM. `policy` may be null: none is applied.
[[nodiscard]] std::vector<NumberInForce> policy_numbers(
    const migration::MigrationOverrides& kubevirt, const migration::MigrationOverrides* policy);

/// The labels of namespaces by their names, which are those of the objects.
[[nodiscard]] std::map<std::string_view, migration::Labels> space_labels(const Objects& objects);

struct PolicyAnswer {
    std::string vmi;  ///< "NAMESPACE/NAME"
    /// What happens; none: no policy is applied.
    std::optional<std::string> stock;
    /// When that one is removed again (tuned_policy.h); none: it stays.
    std::optional<WallTime> stock_ends;
    /// What the proposal's rule would choose, which many expect.
    std::optional<std::string> proposal;
    std::string why;
    std::vector<NumberInForce> effective;
    std::vector<std::string> matching;  ///< by stock's rule, the one that is applied first
    /// Of its last migration that was handed off; empty: none was recorded with a policy.
    std::string recorded;
    std::vector<std::string> notes;
    /// Labels that policies choose by are not known.
    bool uncertain = false;
};

[[nodiscard]] PolicyAnswer policy_answer(const Objects& objects, const kube::Vmi& vmi);

}  // namespace scout::cluster
