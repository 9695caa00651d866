// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_client.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/files.h"
#include "kubevirt/cmd_info.grpc.pb.h"
#include "kubevirt/cmd_v1.grpc.pb.h"
#include "launcher/guarded_socket.h"
#include "wire/checks.h"
#include "wire/status.h"
#include "wire/unary_channel.h"

namespace scout::launcher {
namespace {

namespace cmd = kubevirt::cmd::v1;
namespace info = kubevirt::cmd::info;

/// The largest document, and the message around it.
constexpr int answer_limit = static_cast<int>(document_limit) + 4096;
/// The only version of kubevirt.cmd that there is.
constexpr std::uint32_t our_version = 1;
/// What HTTP/2 puts around it: headers, frames, and answers to pings.
constexpr std::size_t around_answer = 65'536;
/// gRPC waits with a buffer of this size on each connection.
constexpr int read_chunk = 1024;
constexpr std::size_t words_limit = 1024;
constexpr std::size_t version_limit = 256;

/// gRPC's and the launcher's words for a call that went wrong.
Error failure(const grpc::Status& status, bool exceeded, std::string_view method) {
    const std::string name{method};
    if (exceeded) {
        return {Errc::invalid, name + ": expected an answer of at most " +
                                   std::to_string(answer_limit) + " bytes, found more"};
    }
    switch (status.error_code()) {
        case grpc::StatusCode::UNIMPLEMENTED:
            return {Errc::not_found, name + ": this launcher does not know the call: it is older"};
        case grpc::StatusCode::RESOURCE_EXHAUSTED:
            return failure({}, true, method);
        default:
            break;
    }
    auto error = wire::from_grpc(status, method);
    // What does not speak HTTP/2 ends the connection; what Go has no code for is a reason in words.
    error.code = error.code == Errc::internal ? Errc::unavailable : error.code;
    return error;
}

/// Where the transport is fine, `Response` says whether the launcher could do it.
Status outcome(const cmd::Response& response, std::string_view method) {
    if (response.success()) {
        return {};
    }
    return fail(Errc::unavailable,
                std::string{method} + ": the launcher says: " +
                    (response.message().empty() ? "no reason"
                                                : wire::cut(response.message(), words_limit)));
}

class GrpcLauncherClient final : public LauncherClient {
public:
    GrpcLauncherClient(wire::CallHome& home, const std::shared_ptr<grpc::Channel>& channel,
                       std::shared_ptr<GuardedSocket> guard, CallLimits limits)
        : limits_(limits),
          guard_(std::move(guard)),
          cmd_(cmd::Cmd::NewStub(channel)),
          info_(info::CmdInfo::NewStub(channel)),
          channel_(home, channel) {}
    ~GrpcLauncherClient() override { guard_->close(); }
    GrpcLauncherClient(const GrpcLauncherClient&) = delete;
    GrpcLauncherClient& operator=(const GrpcLauncherClient&) = delete;
    GrpcLauncherClient(GrpcLauncherClient&&) = delete;
    GrpcLauncherClient& operator=(GrpcLauncherClient&&) = delete;

    Task<Status> handshake() override {
        auto start = [stub = info_](auto* context, auto* request, auto* response, auto done) {
            stub->async()->Info(context, request, response, std::move(done));
        };
        info::CmdInfoRequest request;
        const auto guard = expect_answer();
        const auto answer = co_await channel_.call<info::CmdInfoResponse>(
            std::move(start), std::move(request), limits_.handshake);
        if (!answer.status.ok()) {
            co_return fail(failure(answer.status, guard->exceeded(), "Info"));
        }
        const auto& versions = answer.response.supportedcmdversions();
        if (std::find(versions.begin(), versions.end(), our_version) == versions.end()) {
            co_return fail(Errc::refused,
                           "Info: expected version 1 among those of the launcher, " +
                               (versions.empty() ? std::string{"found none"}
                                                 : "found " + std::to_string(versions[0]) +
                                                       (versions.size() > 1 ? ", …" : "")));
        }
        co_return Status{};
    }

    Task<Result<std::optional<Domain>>> domain() override {
        auto answer = co_await ask<cmd::DomainResponse>(&cmd::Cmd::Stub::async_interface::GetDomain,
                                                        "GetDomain", limits_.call);
        if (!answer) {
            co_return fail(std::move(answer.error()));
        }
        co_return parse_domain(std::move(*answer->mutable_domain()));
    }

    Task<Result<std::optional<DomainStats>>> stats() override {
        auto answer = co_await ask<cmd::DomainStatsResponse>(
            &cmd::Cmd::Stub::async_interface::GetDomainStats, "GetDomainStats", limits_.call);
        if (!answer) {
            co_return fail(std::move(answer.error()));
        }
        co_return parse_domain_stats(std::move(*answer->mutable_domainstats()));
    }

    Task<Result<std::uint64_t>> dirty_rate() override {
        auto answer = co_await ask<cmd::DirtyRateStatsResponse>(
            &cmd::Cmd::Stub::async_interface::GetDomainDirtyRateStats, "GetDomainDirtyRateStats",
            limits_.dirty_rate);
        if (!answer) {
            co_return fail(std::move(answer.error()));
        }
        const auto rate = answer->dirtyratembs();
        if (rate < 0) {
            co_return fail(Errc::invalid, "GetDomainDirtyRateStats: expected MiB/s, found " +
                                              std::to_string(rate));
        }
        co_return static_cast<std::uint64_t>(rate);
    }

    Task<Result<std::string>> qemu_version() override {
        auto answer = co_await ask<cmd::QemuVersionResponse>(
            &cmd::Cmd::Stub::async_interface::GetQemuVersion, "GetQemuVersion", limits_.call);
        if (!answer) {
            co_return fail(std::move(answer.error()));
        }
        co_return wire::cut(answer->version(), version_limit);
    }

    Task<Status> ping() override {
        auto answer = co_await ask<cmd::Response>(&cmd::Cmd::Stub::async_interface::Ping, "Ping",
                                                  limits_.call);
        co_return answer ? Status{} : fail(std::move(answer.error()));
    }

private:
    template <class Response>
    using Method = void (cmd::Cmd::Stub::async_interface::*)(grpc::ClientContext*,
                                                             const cmd::EmptyRequest*, Response*,
                                                             std::function<void(grpc::Status)>);

    static const cmd::Response* head_of(const cmd::Response* answer) { return answer; }
    template <class Response>
    static const cmd::Response* head_of(const Response* answer) {
        return &answer->response();
    }

    template <class Response>
    Task<Result<Response>> ask(Method<Response> method, const char* name,
                               std::chrono::milliseconds limit) {
        auto start = [stub = cmd_, method](auto* context, auto* request, auto* response,
                                           auto done) {
            (stub->async()->*method)(context, request, response, std::move(done));
        };
        cmd::EmptyRequest request;
        const auto guard = expect_answer();
        auto answer = co_await channel_.call<Response>(std::move(start), std::move(request), limit);
        if (!answer.status.ok()) {
            co_return fail(failure(answer.status, guard->exceeded(), name));
        }
        if (auto done = outcome(*head_of(&answer.response), name); !done) {
            co_return fail(std::move(done.error()));
        }
        co_return std::move(answer.response);
    }

    /// One more answer may come. Calls side by side share what the last one of them was given.
    std::shared_ptr<GuardedSocket> expect_answer() {
        guard_->allow(answer_limit + around_answer);
        return guard_;
    }

    CallLimits limits_;
    std::shared_ptr<GuardedSocket> guard_;
    std::shared_ptr<cmd::Cmd::Stub> cmd_;
    std::shared_ptr<info::CmdInfo::Stub> info_;
    wire::UnaryChannel channel_;
};

}  // namespace

Result<std::unique_ptr<LauncherClient>> LauncherClient::open(wire::CallHome& home, UniqueFd socket,
                                                             CallLimits limits) {
    if (!socket) {
        return fail(Errc::internal, "expected a connected socket, found none");
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(answer_limit);
    // gRPC would make one of the path, which Go's server takes for damaged (dossier §1.3).
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    // Nothing to measure on a unix socket; windows stay small.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // There may be 200 of them: what gRPC would keep for each beside its calls is left out.
    arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
    arguments.SetInt(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_HPACK_TABLE_SIZE_DECODER, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_HPACK_TABLE_SIZE_ENCODER, 0);
    arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, read_chunk);
    auto made = GuardedSocket::make(home.loop(), std::move(socket));
    if (!made) {
        return fail(std::move(made.error()));
    }
    const auto channel =
        grpc::CreateCustomInsecureChannelFromFd("localhost", made->end.release(), arguments);
    return std::make_unique<GrpcLauncherClient>(home, channel, std::move(made->guard), limits);
}

}  // namespace scout::launcher
