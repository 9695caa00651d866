// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "migration/cpu_map.h"
#include "migration/named_target.h"

/// What would become of a migration, before it is made.
namespace scout::cluster {

enum class MoveVerdict : std::uint8_t {
    ok,
    refused,  ///< by the API server, by KubeVirt, or because nothing good would come of it
    pending,  ///< it would be made, and then wait
};
[[nodiscard]] std::string_view to_string(MoveVerdict verdict) noexcept;  // "ok", …

struct MoveForecast {
    MoveVerdict verdict = MoveVerdict::refused;
    std::string vmi;                      ///< "NAMESPACE/NAME" as far as it is told
    std::string source;                   ///< node on which the VMI runs; empty: none, or not known
    std::string wish;                     ///< what is asked for besides; empty: nothing
    std::vector<std::string> candidates;  ///< nodes that can certainly take it, sorted
    /// Of addedNodeSelector: the VM asks for them itself, with another value, which stays.
    std::vector<std::string> ignored_keys;
    /// When KubeVirt gives up; none: it is not pending, or waits without an end.
    std::optional<std::int64_t> give_up_seconds;
    /// Why not or, of `ok`, what to know of it: never empty unless it is `ok`.
    std::vector<migration::MoveReason> reasons;
    std::vector<std::string> notes;
    bool uncertain = false;  ///< no node can certainly take it, and of some it cannot be told
};

/// Judges as place_vmi() does. Errors: invalid, if several VMIs are meant. Pure.
[[nodiscard]] Result<MoveForecast> forecast_move(const Objects& objects,
                                                 const migration::MoveRequest& request,
                                                 WallTime now, const migration::CpuMap* map);

}  // namespace scout::cluster
