// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/fleet_matrix.h"
#include "aggregator/registry.h"
#include "base/clock.h"
#include "base/result.h"
#include "fleet/answers.h"
#include "virt_scout/v1/fleet.pb.h"
#include "virt_scout/v1/report.pb.h"

/// Nodes and guests from and to the messages of the wire. What comes in is bounded: UUIDs and names
/// by wire's limits, guests by the registry's.
namespace scout::aggregator {

namespace v1 = virt_scout::v1;

/// Errc::invalid names the field.
[[nodiscard]] Status check_hello(const v1::Hello& hello);

[[nodiscard]] v1::Guest to_wire(const Guest& guest);
/// For lists that tell equal CPUs once.
[[nodiscard]] v1::Guest to_wire_without_cpu(const Guest& guest);
/// Of a node whose agent told something.
[[nodiscard]] fleet::ToldPressure told_pressure(const Node& node, SteadyTime now);
/// Of all such nodes.
[[nodiscard]] fleet::ToldPressures told_pressures(const Registry& registry, SteadyTime now);
[[nodiscard]] v1::NodeSummary summary_of(const Node& node, const FleetMatrix& matrix,
                                         SteadyTime now);

/// Errc::invalid names the field. A CPU that cannot be taken only marks its guest.
[[nodiscard]] Result<Guest> guest_from_wire(const v1::Guest& guest, Registry& registry);
[[nodiscard]] Result<std::vector<Guest>> guests_from_wire(
    const google::protobuf::RepeatedPtrField<v1::Guest>& guests, Registry& registry);
/// At most as many as a list may have.
[[nodiscard]] Result<std::vector<RemovedGuest>> removed_from_wire(
    const google::protobuf::RepeatedPtrField<v1::RemovedGuest>& guests);
[[nodiscard]] Result<HostReport> host_from_wire(const v1::FullReport& report);

/// Why the node has no profile: its probe's error, or that it has not been told yet.
[[nodiscard]] std::string why_no_profile(const Node& node);
/// "node n1 has no profile: …"
[[nodiscard]] std::string no_profile_text(const Node& node);

}  // namespace scout::aggregator
