// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "kube/access.h"

namespace scout::cli {

/// Which cluster is asked itself, as the command line has it.
struct AccessRequest {
    std::string kubeconfig;  ///< empty: KUBECONFIG, ~/.kube/config, the pod that we are in
    std::string context;
    bool insecure = false;  ///< a kubeconfig may ask not to check the server's certificate
};

/// Errors: as of kube::find_access().
[[nodiscard]] Result<kube::ClusterAccess> find_access(const AccessRequest& request);

}  // namespace scout::cli
