// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "agent/aggregator_link.h"
#include "wire/endpoint.h"

namespace scout::agent {

/// The gRPC link (service virt_scout.v1.Reports). The channel is made with the first stream and
/// kept; TLS files reload inside it. A token file, as the kubelet writes and replaces them, is read
/// for each stream, and its token goes with it; gRPC refuses that over plaintext. Streams must be
/// gone before the link, the link before the loop.
[[nodiscard]] std::unique_ptr<AggregatorLink> make_grpc_link(asio::any_io_executor loop,
                                                             wire::Endpoint endpoint,
                                                             wire::Security security,
                                                             std::filesystem::path token_file = {});

}  // namespace scout::agent
