// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "cli/api_client.h"
#include "cli/open_fleet.h"
#include "virt_scout/v1/fleet.grpc.pb.h"
#include "wire/convert.h"
#include "wire/endpoint.h"
#include "wire/fleet_messages.h"
#include "wire/status.h"

namespace scout::cli {
namespace {

namespace v1 = virt_scout::v1;

constexpr const char* not_connected = "cannot connect";

std::string_view event_text(v1::FleetEvent::Kind kind) {
    switch (kind) {
        case v1::FleetEvent::GUEST_ADDED:
            return "added";
        case v1::FleetEvent::GUEST_CHANGED:
            return "changed";
        case v1::FleetEvent::GUEST_REMOVED:
            return "removed";
        default:
            return {};
    }
}

/// What is wrong with the path of a unix socket, better said than gRPC does; else empty.
std::string socket_fault(std::string_view address) {
    constexpr std::string_view prefix = "unix:";
    if (!address.starts_with(prefix)) {
        return {};
    }
    std::error_code ignored;
    const auto status = std::filesystem::status(address.substr(prefix.size()), ignored);
    if (status.type() == std::filesystem::file_type::not_found) {
        return "no such socket";
    }
    if (status.type() != std::filesystem::file_type::socket &&
        status.type() != std::filesystem::file_type::none) {
        return "expected a socket, found something else";
    }
    return {};
}

class FleetClient final : public Fleet {
public:
    FleetClient(std::shared_ptr<grpc::Channel> channel, std::string address,
                std::chrono::milliseconds deadline)
        : channel_(std::move(channel)),
          stub_(v1::Fleet::NewStub(channel_)),
          address_(std::move(address)),
          deadline_(deadline) {}

    Result<NodesAnswer> nodes() override {
        const auto response = call<v1::NodesResponse>(&v1::Fleet::Stub::Nodes, v1::NodesRequest{});
        return response ? wire::from_wire(*response) : fail(response.error());
    }

    Result<NodeDetail> node(const std::string& name) override {
        v1::NodeRequest request;
        request.set_name(name);
        const auto response = call<v1::NodeResponse>(&v1::Fleet::Stub::Node, request);
        return response ? wire::from_wire(*response) : fail(response.error());
    }

    Result<GuestsAnswer> guests(const std::string& node) override {
        v1::GuestsRequest request;
        request.set_node(node);
        const auto response = call<v1::GuestsResponse>(&v1::Fleet::Stub::Guests, request);
        return response ? wire::from_wire(*response) : fail(response.error());
    }

    Result<migration::Placement> where(const FleetSubject& subject,
                                       const std::string& target) override {
        const auto response =
            call<v1::WhereResponse>(&v1::Fleet::Stub::Where, wire::to_request(subject, target));
        return response ? wire::from_wire(*response) : fail(response.error());
    }

    Result<AnyMatrix> matrix() override {
        const auto response =
            call<v1::MatrixResponse>(&v1::Fleet::Stub::Matrix, v1::MatrixRequest{});
        return response ? wire::from_wire(*response) : fail(response.error());
    }

    Result<migration::Baseline> baseline(const std::vector<std::string>& nodes) override {
        v1::BaselineRequest request;
        for (const auto& node : nodes) {
            request.add_nodes(node);
        }
        const auto response = call<v1::BaselineResponse>(&v1::Fleet::Stub::Baseline, request);
        if (!response) {
            return fail(response.error());
        }
        return wire::from_wire(*response);
    }

    Result<migration::UpgradeImpact> upgrade_impact(const std::string& node) override {
        v1::UpgradeImpactRequest request;
        request.set_node(node);
        const auto response =
            call<v1::UpgradeImpactResponse>(&v1::Fleet::Stub::UpgradeImpact, request);
        if (!response) {
            return fail(response.error());
        }
        return wire::from_wire(*response);
    }

    Result<ProtectionListing> protection(const fleet::ProtectionQuestion& /*question*/) override {
        return fail(
            Errc::invalid,
            "protection: KubeVirt's VMIs are known to a cluster's own aggregator alone, and "
            "a hypervisor without KubeVirt has none: ask with --aggregator kube:, or read "
            "the cluster with --live or --from");
    }

    Result<PressureListing> pressure(const std::vector<std::string>& nodes) override {
        v1::PressureRequest request;
        for (const auto& node : nodes) {
            request.add_nodes(node);
        }
        const auto response = call<v1::PressureResponse>(&v1::Fleet::Stub::Pressure, request);
        if (!response) {
            return fail(response.error());
        }
        return wire::from_wire(*response);
    }

    Status watch_guests(const std::string& node, const GuestSink& sink) override;

private:
    template <class Response, class Method, class Request>
    Result<Response> call(Method method, const Request& request) {
        grpc::ClientContext context;
        context.set_deadline(timespan());
        Response response;
        const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
        if (!status.ok()) {
            return fail(explain_failure(status));
        }
        return response;
    }

    /// gRPC counts a span from the moment of the call.
    [[nodiscard]] gpr_timespec timespan() const {
        return gpr_time_from_millis(deadline_.count(), GPR_TIMESPAN);
    }

    /// The user's next step, for the failures that a user can mend.
    [[nodiscard]] Error explain_failure(const grpc::Status& status) const {
        auto error = wire::from_grpc(status, "aggregator " + address_);
        if (error.code == Errc::unavailable) {
            const bool reached = !tell_connection(status, error);
            error.message += reached ? "; ask again, or another one with --aggregator"
                                     : "; is it running there? --aggregator names another, and "
                                       "'scoutctl --help' lists what works on files alone";
        }
        if (error.code == Errc::timed_out) {
            error.message += "; --deadline gives it more time";
        }
        return error;
    }

    /// Says in plain words why there is no connection; false if there is one, or was.
    [[nodiscard]] bool tell_connection(const grpc::Status& status, Error& error) const {
        constexpr std::string_view bookkeeping =
            "failed to connect to all addresses; last error: UNKNOWN: ";
        if (const auto fault = socket_fault(address_); !fault.empty()) {
            error.message = "aggregator " + address_ + ": " + fault;
            return true;
        }
        if (const auto at = error.message.find(bookkeeping); at != std::string::npos) {
            error.message.erase(at, bookkeeping.size());
            return true;
        }
        return status.error_message() == not_connected;
    }

    std::shared_ptr<grpc::Channel> channel_;
    std::unique_ptr<v1::Fleet::Stub> stub_;
    std::string address_;
    std::chrono::milliseconds deadline_;
};

Status FleetClient::watch_guests(const std::string& node, const GuestSink& sink) {
    if (!channel_->WaitForConnected(timespan())) {
        return fail(explain_failure({grpc::StatusCode::UNAVAILABLE, not_connected}));
    }
    v1::WatchRequest request;
    request.set_node(node);
    grpc::ClientContext context;
    const auto stream = stub_->Watch(&context, request);
    v1::FleetEvent message;
    while (stream->Read(&message)) {
        const auto event = event_text(message.kind());
        if (event.empty()) {
            continue;
        }
        auto guest = wire::guest_from_wire(message.node(), message.guest());
        if (!guest) {
            return fail(std::move(guest.error()));
        }
        if (!sink({.event = event, .guest = std::move(*guest)})) {
            context.TryCancel();
            static_cast<void>(stream->Finish());
            return {};
        }
    }
    const auto status = stream->Finish();
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
        return fail(Errc::unavailable, "aggregator " + address_ +
                                           " ended the watching: the changes were not read as fast "
                                           "as they came; watch again");
    }
    if (status.ok()) {
        return fail(Errc::unavailable, "aggregator " + address_ + " ended the watching");
    }
    return fail(explain_failure(status));
}

Result<std::unique_ptr<Fleet>> open_grpc_fleet(const Settings& settings, const std::string& address,
                                               std::chrono::milliseconds deadline) {
    auto endpoint = wire::parse_endpoint(address);
    if (!endpoint) {
        return fail(std::move(endpoint.error()).within("--aggregator"));
    }
    auto tls = wire::tls_files({.ca = settings.tls_ca.value_or(""),
                                .certificate = settings.tls_cert.value_or(""),
                                .key = settings.tls_key.value_or("")});
    // gRPC's own lines on stderr say less than the status that comes back.
    ::setenv("GRPC_VERBOSITY", "NONE", 0);  // NOLINT(concurrency-mt-unsafe): before its threads
    auto channel =
        wire::open_channel(*endpoint, {.tls = std::move(tls),
                                       .plaintext = settings.plaintext.value_or(false),
                                       .server_name = settings.server_name.value_or("")});
    if (!channel) {
        return fail(std::move(channel.error()).within("aggregator " + address));
    }
    return std::make_unique<FleetClient>(std::move(*channel), address, deadline);
}

}  // namespace

Result<std::unique_ptr<Fleet>> open_fleet(const Settings& settings, const AccessRequest& access,
                                          const Clock& clock) {
    const auto address = settings.aggregator.value_or(default_aggregator);
    auto deadline = default_deadline;
    if (settings.deadline) {
        auto parsed = parse_deadline(*settings.deadline);
        if (!parsed) {
            return fail(std::move(parsed.error()));
        }
        deadline = *parsed;
    }
    if (address == cluster_aggregator) {
        auto found = find_access(access);
        if (!found) {
            return fail(std::move(found.error()));
        }
        return open_api_fleet(*found, clock, deadline);
    }
    return open_grpc_fleet(settings, address, deadline);
}

}  // namespace scout::cli
