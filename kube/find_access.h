// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "kube/access.h"
#include "kube/kubeconfig.h"

namespace scout::kube {

/// Where a program looks for its API server: a kubeconfig first, then the pod that it runs in.
struct AccessPlaces {
    KubeconfigPlaces kubeconfig;
    PodPlace pod;
    AccessOptions options;
};

/// As this process' environment has them: KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST and
/// KUBERNETES_SERVICE_PORT. Before there are threads.
[[nodiscard]] AccessPlaces places_of_environment();

/// The chosen kubeconfig or context must be there; without either a pod's account is as good.
/// Blocking. Errors: as of read_kubeconfigs(), access_from_kubeconfig() and access_in_cluster().
[[nodiscard]] Result<ClusterAccess> find_access(const AccessPlaces& places);

}  // namespace scout::kube
