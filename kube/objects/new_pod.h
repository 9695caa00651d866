// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/objects/launcher_grace.h"
#include "kube/padded_text.h"

namespace scout::kube {

/// In the annotations of a VM's template, or the labels of a namespace: after how many seconds the
/// launchers there may kill their guests at the earliest.
inline constexpr const char* grace_key = "virt-scout.io/launcher-grace-seconds";

/// Node selector that no node can meet: it stands for a term of the migration that the pod is for.
inline constexpr const char* target_term_key = "virt-scout.io/target-term";

/// What we use of a pod that is about to be made, which has no uid and often no name yet.
struct NewPod {
    std::string role;                          ///< label kubevirt.io; virt-launcher: of a VMI
    std::optional<std::string> migration_uid;  ///< of a migration's target
    std::string migration;                     ///< its name
    std::string target_term;                   ///< node selector of that key; empty: none
    std::string vmi_name;                      ///< as of a LauncherPod
    std::string vmi_uid;
    std::string arch;                           ///< of the nodes that it is for; empty: any
    std::string affinity;                       ///< spec.affinity, JSON as it stands; empty: none
    std::optional<std::chrono::seconds> grace;  ///< spec.terminationGracePeriodSeconds
    std::optional<LauncherGrace> launcher_grace;
    std::string wanted_grace;  ///< annotation of grace_key, copied from the VMI; empty: none
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<NewPod> decode_new_pod(PaddedText object);

}  // namespace scout::kube
