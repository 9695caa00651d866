// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/cause_story.h"
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
[[nodiscard]] Result<fleet::AnyMatrix> from_wire(const v1::MatrixResponse& response);
[[nodiscard]] Result<cluster::CauseStory> from_wire(const v1::WhyResponse& response);
[[nodiscard]] Result<fleet::ProtectionListing> from_wire(const v1::ProtectionResponse& response);
[[nodiscard]] Result<fleet::PressureListing> from_wire(const v1::PressureResponse& response);
[[nodiscard]] Result<fleet::GuestLine> guest_from_wire(const std::string& node,
                                                       const v1::Guest& guest);

/// What the objects of a cluster tell.
[[nodiscard]] v1::NodesResponse to_wire(const fleet::NodesAnswer& answer);
[[nodiscard]] v1::NodeResponse to_wire(const fleet::NodeDetail& answer);
[[nodiscard]] v1::GuestsResponse to_wire(const fleet::GuestsAnswer& answer);
[[nodiscard]] v1::MatrixResponse to_wire(const fleet::LevelsAnswer& answer);
[[nodiscard]] v1::WhereResponse to_wire(const migration::Placement& placement);
[[nodiscard]] v1::WhyResponse to_wire(const cluster::CauseStory& story);
[[nodiscard]] v1::ProtectionResponse to_wire(const fleet::ProtectionListing& answer);
[[nodiscard]] v1::PressureResponse to_wire(const fleet::PressureListing& answer);

/// "fresh", "stale", "gone"; empty for a node that is known by objects alone.
[[nodiscard]] std::string freshness_text(v1::Freshness freshness);
[[nodiscard]] v1::Freshness freshness_named(std::string_view text);

}  // namespace scout::wire
