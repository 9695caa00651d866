// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace scout::wire {

/// Sends gRPC's own log lines to ours at level debug: what matters of them reaches the user as a
/// status or as a sentence of ours, and gRPC would print to stderr past every log setting. Call
/// once, from main, before the first endpoint.
void route_grpc_logs();

/// Listeners that gRPC has given up since then. Its version 1.51 (src/core/lib/iomgr's TCP server)
/// never accepts again where one accept failed, as it does without a free file descriptor, and
/// tells only its log. Any thread.
[[nodiscard]] std::uint64_t lost_listeners() noexcept;

}  // namespace scout::wire
