// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

#include "aggregator/fleet.h"
#include "migration/profile.h"
#include "tests/wire/certificates.h"

namespace scout::bench {

inline constexpr std::size_t guests_of_a_node = 20;

/// The fleet as agents would report it.
void fill(aggregator::Fleet& fleet, const std::vector<migration::Profile>& profiles,
          std::size_t nodes);

/// A connection of its own for the agent of this node, not begun yet.
[[nodiscard]] std::shared_ptr<grpc::Channel> open_channel(const test::Authority& authority,
                                                          const std::string& address,
                                                          const std::string& node);

}  // namespace scout::bench
