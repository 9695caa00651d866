// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "cli/cluster_access.h"
#include "kube/access.h"
#include "kube/client.h"
#include "kube/http_transport.h"

namespace scout::cli {

/// The API server, with the user's own rights, for commands that change something. The clock
/// outlives it.
struct ApiServer {
    ApiServer(const kube::ClusterAccess& access, const Clock& clock);

    asio::io_context loop{1};
    kube::HttpTransport transport;
    kube::Client client;
};

/// Errors: as of find_access().
[[nodiscard]] Result<kube::ClusterAccess> access_to_change(const AccessRequest& request);

}  // namespace scout::cli
