// SPDX-License-Identifier: Apache-2.0
#include "wire/status.h"

#include <string>

#include "wire/checks.h"

namespace scout::wire {
namespace {

constexpr std::size_t message_limit = 2048;

grpc::StatusCode code_to_grpc(Errc code) {
    switch (code) {
        case Errc::not_found:
            return grpc::StatusCode::NOT_FOUND;
        case Errc::unavailable:
            return grpc::StatusCode::UNAVAILABLE;
        case Errc::timed_out:
            return grpc::StatusCode::DEADLINE_EXCEEDED;
        case Errc::cancelled:
            return grpc::StatusCode::CANCELLED;
        case Errc::invalid:
            return grpc::StatusCode::INVALID_ARGUMENT;
        case Errc::refused:
            return grpc::StatusCode::PERMISSION_DENIED;
        case Errc::internal:
            return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::INTERNAL;
}

Errc code_from_grpc(grpc::StatusCode code) {
    switch (code) {
        case grpc::StatusCode::NOT_FOUND:
            return Errc::not_found;
        case grpc::StatusCode::UNAVAILABLE:
        case grpc::StatusCode::RESOURCE_EXHAUSTED:
        case grpc::StatusCode::ABORTED:
            return Errc::unavailable;
        case grpc::StatusCode::DEADLINE_EXCEEDED:
            return Errc::timed_out;
        case grpc::StatusCode::CANCELLED:
            return Errc::cancelled;
        case grpc::StatusCode::INVALID_ARGUMENT:
        case grpc::StatusCode::OUT_OF_RANGE:
        case grpc::StatusCode::UNIMPLEMENTED:
            return Errc::invalid;
        case grpc::StatusCode::PERMISSION_DENIED:
        case grpc::StatusCode::UNAUTHENTICATED:
        case grpc::StatusCode::FAILED_PRECONDITION:
        case grpc::StatusCode::ALREADY_EXISTS:
            return Errc::refused;
        default:
            return Errc::internal;
    }
}

}  // namespace

grpc::Status to_grpc(const Error& error) {
    return {code_to_grpc(error.code), cut(error.message, message_limit)};
}

Error from_grpc(const grpc::Status& status, std::string_view step) {
    auto message = cut(status.error_message(), message_limit);
    if (message.empty()) {
        message = "the peer gave no reason (gRPC status " +
                  std::to_string(static_cast<int>(status.error_code())) + ")";
    }
    return Error{code_from_grpc(status.error_code()), std::move(message)}.within(step);
}

}  // namespace scout::wire
