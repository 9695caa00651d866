// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/messages.h"
#include "base/result.h"
#include "virt_scout/v1/report.pb.h"

namespace scout::agent {

/// Texts of the host that are no UTF-8 are made so, and what is too long is cut: one odd guest or
/// firmware string must not cost the report. A guest's CPU or a profile that the aggregator would
/// refuse is left out, with the reason in its place.
[[nodiscard]] virt_scout::v1::AgentMessage to_wire(const Message& message);

/// Errc::invalid for a kind that this version does not know.
[[nodiscard]] Result<Request> from_wire(const virt_scout::v1::AggregatorMessage& message);

}  // namespace scout::agent
