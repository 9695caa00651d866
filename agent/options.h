// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "agent/agent.h"
#include "agent/config.h"

namespace scout::agent {

/// What a config without faults makes of the agent.
[[nodiscard]] AgentOptions options_of(const AgentConfig& config, std::uint64_t seed);

}  // namespace scout::agent
