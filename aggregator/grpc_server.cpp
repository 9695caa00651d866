// SPDX-License-Identifier: Apache-2.0
#include "aggregator/grpc_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/offload.h"
#include "base/unique_fd.h"

namespace scout::aggregator {
namespace {

/// Largest message of a client: agents tell at most 256 guests in one, each with a CPU of at most
/// 12 KiB (some 2 KiB are usual), and a profile of at most 2 MiB.
constexpr int message_limit = 4 << 20;
constexpr int calls_per_connection = 32;
/// A host that vanished is noticed within 80 s, so that its connection does not stay for hours.
constexpr int keepalive_ms = 60'000;
constexpr int keepalive_answer_ms = 20'000;
constexpr int least_ping_interval_ms = 10'000;
/// Reports are small and rare: what is read and buffered for each connection is kept small too.
constexpr int read_chunk_bytes = 2048;
constexpr int tls_frame_bytes = 4096;
constexpr mode_t socket_mode = 0660;
/// For gRPC to end by force what did not end by itself.
constexpr std::chrono::milliseconds let_go_limit{500};

void tune(grpc::ServerBuilder& builder) {
    builder.SetMaxReceiveMessageSize(message_limit);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, calls_per_connection);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_answer_ms);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               least_ping_interval_ms);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, read_chunk_bytes);
    builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, tls_frame_bytes);
    builder.AddChannelArgument(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, read_chunk_bytes);
}

Result<std::vector<asio::ip::tcp::endpoint>> addresses_of(const wire::Endpoint& endpoint) {
    using asio::ip::tcp;
    boost::system::error_code error;
    const auto literal =
        asio::ip::make_address(endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host, error);
    if (!error) {
        return std::vector{tcp::endpoint{literal, endpoint.port}};
    }
    asio::io_context loop{1};
    std::vector<tcp::endpoint> found;
    for (const auto& entry :
         tcp::resolver(loop).resolve(endpoint.host, std::to_string(endpoint.port), error)) {
        found.push_back(entry.endpoint());
    }
    // A name may be listed with one address more than once.
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (error || found.empty()) {
        return fail(Errc::unavailable, "cannot listen on " + endpoint.target() +
                                           ": no address of " + log_value(endpoint.host) +
                                           " is known: " + error.message());
    }
    return found;
}

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const asio::any_io_executor& loop,
                                                      const wire::Endpoint& endpoint,
                                                      const wire::Security& security,
                                                      const std::vector<grpc::Service*>& services,
                                                      std::chrono::milliseconds handshake_limit) {
    auto credentials = wire::server_credentials(endpoint, security);
    if (!credentials) {
        return fail(std::move(credentials.error()));
    }
    auto address = listen_at(loop, endpoint);
    if (!address) {
        return fail(std::move(address.error()));
    }
    grpc::ServerBuilder builder;
    tune(builder);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(handshake_limit.count()));
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, *credentials);
    for (auto* service : services) {
        builder.RegisterService(service);
    }
    auto server = builder.BuildAndStart();
    if (server == nullptr) {
        return fail(Errc::internal, "gRPC cannot serve " + endpoint.target() +
                                        ": its own lines are in the log at level debug");
    }
    if (auto& place = address->place) {
        if (auto published = place->publish(); !published) {
            return fail(std::move(published.error()));
        }
    }
    std::unique_ptr<GrpcServer> out{
        new GrpcServer(loop, std::move(*address), std::move(acceptor), std::move(server))};
    out->accept();
    return out;
}

Result<GrpcServer::Address> GrpcServer::listen_at(const asio::any_io_executor& loop,
                                                  wire::Endpoint endpoint) {
    Address out;
    out.endpoint = std::move(endpoint);
    if (out.endpoint.is_unix()) {
        auto place = wire::UnixSocketPlace::claim(out.endpoint.unix_path);
        if (!place) {
            return fail(std::move(place.error()));
        }
        auto listener = daemon::Listener::at(loop, place->private_name(), socket_mode);
        if (!listener) {
            return fail(std::move(listener.error()).within("socket " + out.endpoint.unix_path));
        }
        out.place.emplace(std::move(*place));
        out.listeners.push_back(std::move(*listener));
        return out;
    }
    auto addresses = addresses_of(out.endpoint);
    if (!addresses) {
        return fail(std::move(addresses.error()));
    }
    std::vector<Error> faults;
    for (auto& address : *addresses) {
        address.port(out.endpoint.port);
        auto listener =
            daemon::Listener::at(loop, address, std::chrono::milliseconds{keepalive_answer_ms});
        if (listener) {
            out.endpoint.port = listener->address().port();
            out.listeners.push_back(std::move(*listener));
        } else {
            faults.push_back(std::move(listener.error()));
        }
    }
    if (out.listeners.empty()) {
        return fail(std::move(faults.front()));
    }
    for (const auto& fault : faults) {
        spdlog::warn("an address of {} is left out reason={}", log_value(out.endpoint.host),
                     log_value(fault.message));
    }
    return out;
}

GrpcServer::GrpcServer(const asio::any_io_executor& loop, Address address,
                       std::unique_ptr<Acceptor> acceptor, std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)),
      acceptor_(std::move(acceptor)),
      server_(std::move(server)),
      scope_(loop) {}

GrpcServer::~GrpcServer() = default;

void GrpcServer::accept() {
    for (auto& listener : address_.listeners) {
        scope_.spawn("grpc accept", [this, &listener] {
            return listener.accept_all([this](UniqueFd peer) {
                // Before the server's start and after its shutdown gRPC would leave it open:
                // hence stop_accepting() first.
                Acceptor::NewConnectionParameters connection;
                connection.fd = peer.release();
                acceptor_->HandleNewConnection(&connection);
            });
        });
    }
}

Task<> GrpcServer::stop_accepting() {
    address_.place.reset();
    co_await scope_.close();
    address_.listeners.clear();
}

void GrpcServer::shut_down(const std::vector<std::shared_ptr<GrpcServer>>& servers,
                           std::chrono::milliseconds limit) {
    const auto deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis(limit.count(), GPR_TIMESPAN));
    for (const auto& server : servers) {
        server->server_->Shutdown(deadline);
    }
}

Task<bool> GrpcServer::end(std::vector<std::shared_ptr<GrpcServer>> servers, BlockingPool* pool,
                           std::chrono::milliseconds limit) {
    for (const auto& server : servers) {
        co_await server->stop_accepting();
    }
    auto shut = [servers = std::move(servers), limit]() -> Status {
        shut_down(servers, limit);
        return {};
    };
    // The calls that it waits for end on this loop. It cannot outlast its own limit by much.
    const auto done = co_await offload(*pool, limit + let_go_limit, std::move(shut));
    if (!done) {
        spdlog::warn("gRPC did not stop in time reason={}", log_value(done.error().message));
    }
    co_return done.has_value();
}

}  // namespace scout::aggregator
