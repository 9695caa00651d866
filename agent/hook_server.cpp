// SPDX-License-Identifier: Apache-2.0
#include "agent/hook_server.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "base/logging.h"
#include "base/shield.h"
#include "base/unique_fd.h"

namespace scout::agent {
namespace {

constexpr mode_t socket_mode = 0600;
/// Over anything that virt-handler sends: the API server takes objects of 1.5 MiB. What is larger
/// must arrive to be allowed; gRPC would refuse it, and that were a veto.
constexpr int message_limit = 64 << 20;
/// virt-handler has ten workers, and a connection for each call.
constexpr int calls_per_connection = 16;
constexpr int handshake_limit_ms = 10'000;
constexpr std::chrono::seconds look{5};
constexpr std::chrono::seconds try_again{1};
constexpr std::chrono::milliseconds end_limit{500};
constexpr std::chrono::milliseconds let_go_limit{500};

}  // namespace

HookServer::HookServer(asio::any_io_executor loop, std::string path, grpc::Service& service)
    : loop_(std::move(loop)), path_(std::move(path)), service_(service) {}

HookServer::~HookServer() = default;

bool HookServer::start() {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(message_limit);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, calls_per_connection);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_limit_ms);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    return server_ != nullptr;
}

Task<> HookServer::run() {
    if (!start()) {
        say("gRPC cannot serve it: its own lines are in the log at level debug");
        co_return;
    }
    asio::steady_timer timer(loop_);
    for (;;) {
        if (!is_in_place()) {
            co_await leave();
            auto listening = listen();
            say(listening ? std::string{} : std::move(listening.error().message));
        }
        timer.expires_after(trouble_.empty() ? look : try_again);
        co_await timer.async_wait(as_result);
    }
}

Status HookServer::listen() {
    // Its parent is the host's; only the last folder is ours to make.
    std::error_code ignored;
    std::filesystem::create_directory(std::filesystem::path{path_}.parent_path(), ignored);
    auto place = wire::UnixSocketPlace::claim(path_);
    if (!place) {
        return fail(std::move(place.error()));
    }
    auto listener = daemon::Listener::at(loop_, place->private_name(), socket_mode);
    if (!listener) {
        return fail(std::move(listener.error()).within("socket " + path_));
    }
    if (auto published = place->publish(); !published) {
        return published;
    }
    struct stat info{};
    if (::lstat(path_.c_str(), &info) == 0) {
        device_ = info.st_dev;
        inode_ = info.st_ino;
    }
    place_.emplace(std::move(*place));
    listener_.emplace(std::move(*listener));
    accepting_.emplace(loop_);
    accepting_->spawn("hook accept", [this] {
        return listener_->accept_all([this](UniqueFd peer) {
            Acceptor::NewConnectionParameters connection;
            connection.fd = peer.release();
            acceptor_->HandleNewConnection(&connection);
        });
    });
    return {};
}

bool HookServer::is_in_place() const {
    struct stat info{};
    return place_ && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
           info.st_ino == inode_;
}

Task<> HookServer::leave() {
    place_.reset();
    if (accepting_) {
        co_await shield(accepting_->close());
        accepting_.reset();
    }
    listener_.reset();
}

void HookServer::say(std::string trouble) {
    if (trouble == trouble_) {
        return;
    }
    trouble_ = std::move(trouble);
    if (changed_) {
        changed_(trouble_.empty());
    }
    if (trouble_.empty()) {
        spdlog::info("node hook served socket={}", log_value(path_));
    } else {
        spdlog::error(
            "the node hook cannot be served, trying again: virt-handler stops no VM here meanwhile "
            "if a Plugin names it reason={}",
            log_value(trouble_));
    }
}

Task<> HookServer::stop(BlockingPool* pool) {
    co_await leave();
    if (!server_) {
        co_return;
    }
    auto shut = [server = server_]() -> Status {
        server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_millis(end_limit.count(), GPR_TIMESPAN)));
        return {};
    };
    const auto done = co_await offload(*pool, end_limit + let_go_limit, std::move(shut));
    if (!done) {
        spdlog::warn("gRPC did not let go of the node hook in time reason={}",
                     log_value(done.error().message));
    }
}

}  // namespace scout::agent
