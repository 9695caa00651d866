// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace scout::aggregator {

/// One stream of an agent; never used twice in a process.
using SessionId = std::uint64_t;

}  // namespace scout::aggregator
