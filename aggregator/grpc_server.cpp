// SPDX-License-Identifier: Apache-2.0
#include "aggregator/grpc_server.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

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

void tune(grpc::ServerBuilder& builder) {
    builder.SetMaxReceiveMessageSize(message_limit);
    // Two aggregators on one port would share the agents by chance.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
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

/// What the kernel says to the address; gRPC tells only its own log.
std::string why_not_bound(const wire::Endpoint& endpoint) {
    if (endpoint.is_unix()) {
        return "the socket cannot be made there: check that its folder is writable";
    }
    boost::asio::io_context loop{1};
    boost::asio::ip::tcp::resolver resolver(loop);
    boost::system::error_code error;
    const auto found = resolver.resolve(endpoint.host, std::to_string(endpoint.port), error);
    if (!error && !found.empty()) {
        boost::asio::ip::tcp::acceptor acceptor(loop);
        const auto address = found.begin()->endpoint();
        acceptor.open(address.protocol(), error);
        acceptor.set_option(boost::asio::socket_base::reuse_address(true), error);
        acceptor.bind(address, error);
        if (!error) {
            acceptor.listen(1, error);
        }
    }
    if (error == boost::asio::error::address_in_use) {
        return "the port is in use: stop the other process or choose another port";
    }
    return error ? error.message() : "the address cannot be bound";
}

/// A unix socket must never be open to others, not even between bind and chmod.
class NarrowMask {
public:
    NarrowMask() : before_(::umask(0777 & ~socket_mode)) {}
    ~NarrowMask() { ::umask(before_); }
    NarrowMask(const NarrowMask&) = delete;
    NarrowMask& operator=(const NarrowMask&) = delete;
    NarrowMask(NarrowMask&&) = delete;
    NarrowMask& operator=(NarrowMask&&) = delete;

private:
    mode_t before_;
};

std::unique_ptr<grpc::Server> build_and_start(grpc::ServerBuilder& builder) {
    const NarrowMask mask;
    return builder.BuildAndStart();
}

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const wire::Endpoint& endpoint,
                                                      const wire::Security& security,
                                                      const std::vector<grpc::Service*>& services,
                                                      std::chrono::milliseconds handshake_limit) {
    auto credentials = wire::server_credentials(endpoint, security);
    if (!credentials) {
        return fail(std::move(credentials.error()));
    }
    auto bound = endpoint;
    std::optional<wire::UnixSocketPlace> place;
    if (endpoint.is_unix()) {
        auto claimed = wire::UnixSocketPlace::claim(endpoint.unix_path);
        if (!claimed) {
            return fail(std::move(claimed.error()));
        }
        bound.unix_path = claimed->private_name();
        place.emplace(std::move(*claimed));
    }
    grpc::ServerBuilder builder;
    tune(builder);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(handshake_limit.count()));
    int port = 0;
    builder.AddListeningPort(bound.target(), *credentials, &port);
    for (auto* service : services) {
        builder.RegisterService(service);
    }
    auto server = build_and_start(builder);
    if (server == nullptr || port <= 0) {
        return fail(Errc::unavailable,
                    "cannot listen on " + endpoint.target() + ": " + why_not_bound(endpoint));
    }
    if (place) {
        if (auto published = place->publish(); !published) {
            return fail(std::move(published.error()));
        }
    }
    bound = endpoint;
    if (!bound.is_unix()) {
        bound.port = static_cast<std::uint16_t>(port);
    }
    return std::unique_ptr<GrpcServer>{
        new GrpcServer(std::move(server), std::move(bound), std::move(place))};
}

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, wire::Endpoint endpoint,
                       std::optional<wire::UnixSocketPlace> place)
    : server_(std::move(server)), endpoint_(std::move(endpoint)), place_(std::move(place)) {}

GrpcServer::~GrpcServer() = default;

void GrpcServer::shut_down(const std::vector<std::shared_ptr<GrpcServer>>& servers,
                           std::chrono::milliseconds limit) {
    const auto deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis(limit.count(), GPR_TIMESPAN));
    for (const auto& server : servers) {
        server->place_.reset();
    }
    for (const auto& server : servers) {
        server->server_->Shutdown(deadline);
    }
}

}  // namespace scout::aggregator
