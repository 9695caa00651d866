// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/records.h"

/// What virt-scout itself did for a VM, by the Events that it wrote on the VMI. Pure.
namespace scout::cluster {

struct OwnAct {
    WallTime at;  ///< the epoch: not known
    std::string reason;
    std::string text;
};

inline constexpr std::size_t most_own_acts = 20;

/// On VMIs of that name, also of those before this one; the latest first.
[[nodiscard]] std::vector<OwnAct> own_acts(const Records& records, std::string_view space,
                                           std::string_view vmi_name);

/// "gave up", of EvacuationGivenUp; empty: the Event only records what others did.
[[nodiscard]] std::string_view deed_of(std::string_view reason) noexcept;

/// The Event by which it tells of a launcher that ended.
inline constexpr std::string_view end_told = "LauncherEnded";

}  // namespace scout::cluster
