// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace scout::wire {

/// Sends gRPC's own log lines to ours at level debug: what matters of them reaches the user as a
/// status or as a sentence of ours, and gRPC would print to stderr past every log setting. Call
/// once, from main, before the first endpoint.
void route_grpc_logs();

/// Debian builds gRPC's mutexes with a search for deadlocks that remembers the order of all that
/// were ever held together: two fifths of what 10,000 agents that report at once cost an aggregator
/// (bench/agent_streams). Call once, from main, before the first endpoint.
void spare_lock_checks();

}  // namespace scout::wire
