// SPDX-License-Identifier: Apache-2.0
#include "cli/api_server.h"

#include <random>
#include <utility>

#include "base/logging.h"

namespace scout::cli {
namespace {

kube::ClientConfig seeded() {
    kube::ClientConfig config;
    config.seed = std::random_device{}();
    return config;
}

}  // namespace

ApiServer::ApiServer(const kube::ClusterAccess& access, const Clock& clock)
    : transport(loop.get_executor(), access, clock), client(transport, clock, seeded()) {}

Result<kube::ClusterAccess> access_to_change(const AccessRequest& request) {
    // What is wrong is in the answer; the client's own words are for daemons.
    if (auto logging = set_up_logging({.level = "off"}, true); !logging) {
        return fail(std::move(logging.error()));
    }
    return find_access(request);
}

}  // namespace scout::cli
