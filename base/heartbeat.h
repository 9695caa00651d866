// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace scout {

/// An agent that has nothing to say says so about that often.
inline constexpr std::chrono::seconds heartbeat_interval{10};
inline constexpr double heartbeat_jitter = 0.2;  ///< share of the interval, both ways

/// Two heartbeats with their jitter, and a second for the way: who is silent for longer is gone.
inline constexpr std::chrono::seconds agent_silence_limit{25};
static_assert(agent_silence_limit > 2 * (1 + heartbeat_jitter) * heartbeat_interval);

}  // namespace scout
