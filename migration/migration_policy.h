// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "migration/labels.h"
#include "migration/migration_settings.h"

/// Which MigrationPolicy applies to a VMI: by what stock KubeVirt does (dossier §7), and by the
/// rule of the proposal that migration policies began with ("Policies' Precedence"). The two
/// differ. Pure; any thread; nothing here fails.
namespace scout::migration {

/// spec.selectors: plain maps. For stock KubeVirt an empty value stands for itself, not for any
/// value.
struct PolicySelectors {
    Labels space;  ///< of the VMI's namespace
    Labels vmi;

    friend bool operator==(const PolicySelectors&, const PolicySelectors&) = default;
};

/// "VMI label db=pg and namespace label stage=live"; "everything" of empty ones.
[[nodiscard]] std::string to_text(const PolicySelectors& selectors);

struct MigrationPolicy {
    std::string name;
    std::optional<PolicySelectors> selectors;  ///< none: matches nothing. Empty ones match all
    MigrationOverrides overrides;

    friend bool operator==(const MigrationPolicy&, const MigrationPolicy&) = default;
};

/// One of them names a label of a namespace: where those are not known, nor is what is applied.
[[nodiscard]] bool go_by_namespaces(const std::vector<MigrationPolicy>& policies) noexcept;

struct PolicyMatch {
    const MigrationPolicy* policy;
    std::size_t labels;  ///< how many it names, of the namespace and of the VMI
    std::size_t vmi_labels;
};

/// All policies that match, the one that is applied first: more labels, then more of the VMI's,
/// then the lower name. What it returns points into `policies`.
[[nodiscard]] std::vector<PolicyMatch> matching_policies(
    const std::vector<MigrationPolicy>& policies, const Labels& vmi, const Labels& space);

/// The same by the proposal's rule: an empty value stands for any value of that key; more labels go
/// first, then the lower keys (all of a policy's in their order), then those of the VMI before
/// those of the namespace, then the lower name.
[[nodiscard]] std::vector<PolicyMatch> matching_policies_as_proposed(
    const std::vector<MigrationPolicy>& policies, const Labels& vmi, const Labels& space);

}  // namespace scout::migration
