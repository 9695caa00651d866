// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "daemon/listener.h"
#include "wire/endpoint.h"
#include "wire/unix_socket.h"

namespace grpc {
class Server;
class Service;
namespace experimental {
class ExternalConnectionAcceptor;
}
}  // namespace grpc

namespace scout {
class BlockingPool;
}

namespace scout::aggregator {

/// One gRPC server on one endpoint, tuned for thousands of quiet connections. Services outlive it.
///
/// It accepts by itself, on the loop: gRPC 1.51 never accepts again at a listener where one accept
/// failed, as it does without a free file descriptor (src/core/lib/iomgr/tcp_server_posix.cc).
class GrpcServer {
public:
    /// Binds and serves at once: "localhost" is 127.0.0.1, another name all of its addresses that
    /// can be bound, and the others are told in the log. Who
    /// has not finished TLS and HTTP/2 settings within the limit is cut off. A unix socket gets
    /// mode 0660. Blocks while a name is looked up. Errors are one sentence each:
    /// Errc::unavailable if the address is in use or not ours, else what wire/ refuses.
    [[nodiscard]] static Result<std::unique_ptr<GrpcServer>> start(
        const asio::any_io_executor& loop, const wire::Endpoint& endpoint,
        const wire::Security& security, const std::vector<grpc::Service*>& services,
        std::chrono::milliseconds handshake_limit = std::chrono::seconds{10});
    ~GrpcServer();
    GrpcServer(const GrpcServer&) = delete;
    GrpcServer& operator=(const GrpcServer&) = delete;
    GrpcServer(GrpcServer&&) = delete;
    GrpcServer& operator=(GrpcServer&&) = delete;

    /// Where it is, with the port that was bound.
    [[nodiscard]] const wire::Endpoint& endpoint() const noexcept { return address_.endpoint; }

    /// Gives the address back, so that a successor may have it at once. Loop thread; before
    /// shut_down() and the destruction.
    [[nodiscard]] Task<> stop_accepting();
    /// Ends what runs on all of them, by force after the one limit. Blocks, and needs the loop to
    /// turn meanwhile: not from the loop thread. Owners, for who waits for it may give up.
    static void shut_down(const std::vector<std::shared_ptr<GrpcServer>>& servers,
                          std::chrono::milliseconds limit);
    /// Both, of all of them, from the loop. False, with a warning in the log, if gRPC did not let
    /// go soon after the limit: then calls may go on, and the services have to stay.
    [[nodiscard]] static Task<bool> end(std::vector<std::shared_ptr<GrpcServer>> servers,
                                        BlockingPool* pool, std::chrono::milliseconds limit);

private:
    /// Where a server listens, before it accepts.
    struct Address {
        wire::Endpoint endpoint;  ///< with the port that was bound
        std::vector<daemon::Listener> listeners;
        std::optional<wire::UnixSocketPlace> place;  ///< of a unix socket
    };
    using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

    [[nodiscard]] static Result<Address> listen_at(const asio::any_io_executor& loop,
                                                   wire::Endpoint endpoint);
    GrpcServer(const asio::any_io_executor& loop, Address address,
               std::unique_ptr<Acceptor> acceptor, std::unique_ptr<grpc::Server> server);
    void accept();

    Address address_;
    std::unique_ptr<Acceptor> acceptor_;
    std::unique_ptr<grpc::Server> server_;
    TaskScope scope_;
};

}  // namespace scout::aggregator
