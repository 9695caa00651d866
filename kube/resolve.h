// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "base/task.h"

namespace scout::kube {

/// The endpoints of a host, an address or a name, in the order of the system's resolver, at least
/// one. Waits no longer than the limit: a resolver that hangs is left behind, and holds up nobody
/// but the end of the process. Errors: unavailable, timed_out, cancelled.
[[nodiscard]] Task<Result<std::vector<asio::ip::tcp::endpoint>>> resolve(
    std::string host, std::uint16_t port, std::chrono::milliseconds limit);

}  // namespace scout::kube
