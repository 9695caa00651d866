// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "cli/answers.h"
#include "cli/fleet.h"
#include "virt_scout/v1/fleet.pb.h"

/// Messages of the Fleet service from and to the structs of scoutctl, for what `wire/` leaves to
/// the client. What comes in is checked as there: Errc::invalid names the field.
namespace scout::cli {

[[nodiscard]] virt_scout::v1::WhereRequest to_request(const FleetSubject& subject,
                                                      const std::string& target);

[[nodiscard]] Result<NodesAnswer> from_response(const virt_scout::v1::NodesResponse& response);
[[nodiscard]] Result<NodeDetail> from_response(const virt_scout::v1::NodeResponse& response);
[[nodiscard]] Result<GuestsAnswer> from_response(const virt_scout::v1::GuestsResponse& response);
[[nodiscard]] Result<MatrixAnswer> from_response(const virt_scout::v1::MatrixResponse& response);
[[nodiscard]] Result<GuestLine> from_message(const std::string& node,
                                             const virt_scout::v1::Guest& guest);

}  // namespace scout::cli
