// SPDX-License-Identifier: Apache-2.0
#include "kube/find_access.h"

#include <cstdlib>
#include <string>

namespace scout::kube {
namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
    return value == nullptr ? std::string{} : value;
}

}  // namespace

AccessPlaces places_of_environment() {
    AccessPlaces places;
    places.kubeconfig.environment = variable("KUBECONFIG");
    places.kubeconfig.home = variable("HOME");
    places.pod.host = variable("KUBERNETES_SERVICE_HOST");
    places.pod.port = variable("KUBERNETES_SERVICE_PORT");
    return places;
}

Result<ClusterAccess> find_access(const AccessPlaces& places) {
    const auto files = read_kubeconfigs(places.kubeconfig);
    if (files) {
        return access_from_kubeconfig(*files, places.options);
    }
    const bool chosen = !places.kubeconfig.chosen.empty() || !places.options.context.empty();
    if (chosen || files.error().code != Errc::not_found) {
        return fail(files.error());
    }
    auto access = access_in_cluster(places.pod);
    if (!access && access.error().code == Errc::not_found) {
        return fail(files.error());
    }
    return access;
}

}  // namespace scout::kube
