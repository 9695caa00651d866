// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/access.h"
#include "kube/kubeconfig_entry.h"

namespace scout::kube {

/// The `exec` mapping of a user. Faults are noted in the entry; then the answer is of no use.
[[nodiscard]] ExecPlugin read_exec_plugin(const KubeconfigEntry& exec);

/// The headers that `as`, `as-uid`, `as-groups` and `as-user-extra` of a user mean. To leave them
/// out would act with more rights than the file grants.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_impersonation(
    const KubeconfigEntry& user);

}  // namespace scout::kube
