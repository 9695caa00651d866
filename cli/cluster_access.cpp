// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_access.h"

#include "kube/find_access.h"

namespace scout::cli {

Result<kube::ClusterAccess> find_access(const AccessRequest& request) {
    auto places = kube::places_of_environment();
    places.kubeconfig.chosen = request.kubeconfig;
    places.options = {.context = request.context, .allow_insecure = request.insecure};
    return kube::find_access(places);
}

}  // namespace scout::cli
