// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "fleet/answers.h"
#include "fleet/fleet.h"
#include "virt_scout/v1/fleet.pb.h"

/// Messages of the Fleet service from and to the answers of fleet/, beside those of
/// wire/convert.h and checked as there: Errc::invalid names the field.
namespace scout::wire {

namespace v1 = virt_scout::v1;

[[nodiscard]] v1::WhereRequest to_request(const fleet::FleetSubject& subject,
                                          const std::string& target);

[[nodiscard]] Result<fleet::NodesAnswer> from_wire(const v1::NodesResponse& response);
[[nodiscard]] Result<fleet::NodeDetail> from_wire(const v1::NodeResponse& response);
[[nodiscard]] Result<fleet::GuestsAnswer> from_wire(const v1::GuestsResponse& response);
[[nodiscard]] Result<fleet::MatrixAnswer> from_wire(const v1::MatrixResponse& response);
[[nodiscard]] Result<fleet::GuestLine> guest_from_wire(const std::string& node,
                                                       const v1::Guest& guest);

}  // namespace scout::wire
