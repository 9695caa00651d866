// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "documents/profile_document.h"
#include "migration/baseline.h"
#include "migration/comparison.h"
#include "migration/guest.h"
#include "migration/profile.h"
#include "migration/upgrade_impact.h"
#include "virt_scout/v1/fleet.pb.h"
#include "virt_scout/v1/profile.pb.h"

/// Between our plain structs and the wire. What comes in is checked: sorted again, sizes bounded
/// (names 253 bytes, 4,096 list entries), unknown enumerators refused with Errc::invalid.
namespace scout::wire {

namespace v1 = virt_scout::v1;

[[nodiscard]] v1::Profile to_wire(const migration::Profile& profile);
[[nodiscard]] Result<migration::Profile> from_wire(const v1::Profile& profile);

/// The form in which a profile travels by itself: a v1::Profile as bytes. Errors: as from_wire(),
/// and Errc::invalid for bytes that are none.
[[nodiscard]] std::string encode_profile(const migration::Profile& profile);
[[nodiscard]] Result<migration::Profile> decode_profile(const std::string& bytes);
/// The name of a profile in reports: SHA-256 of its bytes, 64 hexadecimal digits. Of what another
/// version sent, hash the bytes as they came: from_wire() drops fields that it does not know.
[[nodiscard]] std::string profile_digest(const migration::Profile& profile);

[[nodiscard]] v1::HostFacts to_wire(const migration::HostFacts& facts);
[[nodiscard]] migration::HostFacts from_wire(const v1::HostFacts& facts);

[[nodiscard]] v1::GuestCpu to_wire(const migration::GuestCpu& guest);
[[nodiscard]] Result<migration::GuestCpu> from_wire(const v1::GuestCpu& guest);

/// The aggregator writes a placement node by node, in turns; it is read as a whole.
[[nodiscard]] v1::Comparison to_wire(const migration::Comparison& comparison);
[[nodiscard]] Result<migration::Placement> from_wire(const v1::WhereResponse& placement);

[[nodiscard]] v1::BaselineResponse to_wire(const migration::Baseline& baseline);
[[nodiscard]] migration::Baseline from_wire(const v1::BaselineResponse& baseline);

[[nodiscard]] v1::UpgradeImpactResponse to_wire(const migration::UpgradeImpact& impact);
[[nodiscard]] migration::UpgradeImpact from_wire(const v1::UpgradeImpactResponse& impact);

}  // namespace scout::wire
