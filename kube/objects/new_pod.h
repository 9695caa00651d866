// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/padded_text.h"

namespace scout::kube {

/// What we use of a pod that is about to be made, which has no uid and often no name yet.
struct NewPod {
    std::string role;                          ///< label kubevirt.io; virt-launcher: of a VMI
    std::optional<std::string> migration_uid;  ///< of a migration's target
    std::string vmi_name;                      ///< as of a LauncherPod
    std::string vmi_uid;
    std::string arch;      ///< of the nodes that it is for; empty: any
    std::string affinity;  ///< spec.affinity, JSON as it stands; empty: none
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<NewPod> decode_new_pod(PaddedText object);

}  // namespace scout::kube
