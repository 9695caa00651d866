// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "agent/aggregator_link.h"
#include "wire/endpoint.h"

namespace scout::agent {

/// The gRPC link (service virt_scout.v1.Reports). The channel is made with the first stream and
/// kept; TLS files reload inside it. Streams must be gone before the link, the link before the
/// loop.
[[nodiscard]] std::unique_ptr<AggregatorLink> make_grpc_link(asio::any_io_executor loop,
                                                             wire::Endpoint endpoint,
                                                             wire::Security security);

}  // namespace scout::agent
