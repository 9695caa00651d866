// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/endpoint.h"
#include "wire/unix_socket.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace scout::aggregator {

/// One gRPC server on one endpoint, tuned for thousands of quiet connections. Services outlive it.
class GrpcServer {
public:
    /// Binds and serves at once. Who has not finished TLS and HTTP/2 settings within the limit is
    /// cut off. A unix socket gets mode 0660. Errors are one sentence each:
    /// Errc::unavailable if the address is in use or not ours, else what wire/ refuses.
    [[nodiscard]] static Result<std::unique_ptr<GrpcServer>> start(
        const wire::Endpoint& endpoint, const wire::Security& security,
        const std::vector<grpc::Service*>& services,
        std::chrono::milliseconds handshake_limit = std::chrono::seconds{10});
    ~GrpcServer();
    GrpcServer(const GrpcServer&) = delete;
    GrpcServer& operator=(const GrpcServer&) = delete;
    GrpcServer(GrpcServer&&) = delete;
    GrpcServer& operator=(GrpcServer&&) = delete;

    /// Where it is, with the port that was bound.
    [[nodiscard]] const wire::Endpoint& endpoint() const noexcept { return endpoint_; }

    /// Gives unix sockets back, so that a successor may have them at once, and ends what runs on
    /// all of them, by force after the one limit. Blocks, and needs the loop to turn meanwhile: not
    /// from the loop thread. Owners, for who waits for it may give up.
    static void shut_down(const std::vector<std::shared_ptr<GrpcServer>>& servers,
                          std::chrono::milliseconds limit);

private:
    GrpcServer(std::unique_ptr<grpc::Server> server, wire::Endpoint endpoint,
               std::optional<wire::UnixSocketPlace> place);

    std::unique_ptr<grpc::Server> server_;
    wire::Endpoint endpoint_;
    std::optional<wire::UnixSocketPlace> place_;
};

}  // namespace scout::aggregator
