// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <grpcpp/support/status.h>

#include "base/result.h"

namespace scout::wire {

/// The one table between our errors and gRPC's. The message travels, cut at 2 KiB (it lies in the
/// trailer, which peers bound to 8 KiB).
[[nodiscard]] grpc::Status to_grpc(const Error& error);

/// The way back, for clients; `step` says what was tried. An OK status is Errc::internal here: call
/// only for failures. A peer that cannot be reached is Errc::unavailable.
[[nodiscard]] Error from_grpc(const grpc::Status& status, std::string_view step);

}  // namespace scout::wire
