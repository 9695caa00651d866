// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>

#include "base/offload.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "daemon/listener.h"
#include "wire/unix_socket.h"

namespace grpc {
class Server;
class Service;
namespace experimental {
class ExternalConnectionAcceptor;
}
}  // namespace grpc

namespace scout::agent {

/// One gRPC service on a unix socket of mode 0600 that stays where virt-handler looks for it: it is
/// put there anew when its folder or itself was taken away, and tried again while it cannot be. A
/// stale socket is replaced, one that somebody listens at is not. Loop thread.
///
/// It accepts by itself, for gRPC 1.51 never accepts again where one accept failed, as it does
/// without a free file descriptor.
class HookServer {
public:
    HookServer(asio::any_io_executor loop, std::string path, grpc::Service& service);
    ~HookServer();
    HookServer(const HookServer&) = delete;
    HookServer& operator=(const HookServer&) = delete;
    HookServer(HookServer&&) = delete;
    HookServer& operator=(HookServer&&) = delete;

    /// Serves until cancelled.
    [[nodiscard]] Task<> run();
    /// Takes the socket away and ends what runs. Calls must come to their end meanwhile, see
    /// HookService::stop().
    [[nodiscard]] Task<> stop(BlockingPool* pool);

    /// Called whenever it begins or ends that anybody can call. Before run().
    void on_change(std::function<void(bool served)> handler) { changed_ = std::move(handler); }
    /// Why nobody can call; empty: the socket is there.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
    using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

    [[nodiscard]] bool start();
    [[nodiscard]] Status listen();
    [[nodiscard]] bool is_in_place() const;
    [[nodiscard]] Task<> leave();
    void say(std::string trouble);

    asio::any_io_executor loop_;
    std::string path_;
    grpc::Service& service_;
    std::unique_ptr<Acceptor> acceptor_;
    std::shared_ptr<grpc::Server> server_;
    std::optional<wire::UnixSocketPlace> place_;
    std::optional<daemon::Listener> listener_;
    std::optional<TaskScope> accepting_;
    std::uint64_t device_ = 0;  ///< with `inode_`: which socket is ours
    std::uint64_t inode_ = 0;
    std::string trouble_ = "it is not served yet";
    std::function<void(bool)> changed_;
};

}  // namespace scout::agent
