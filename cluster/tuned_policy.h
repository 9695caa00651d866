// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "kube/objects/migration_policy.h"

/// MigrationPolicies with an expiry: who makes one says when it ends, and the leader of the
/// aggregators removes it then. Pure.
namespace scout::cluster {

/// Its value is "true".
inline constexpr std::string_view tune_label = "virt-scout.io/tune";
/// RFC 3339.
inline constexpr std::string_view expires_annotation = "virt-scout.io/expires";

/// By its label.
[[nodiscard]] bool is_tuned(const kube::MigrationPolicy& policy);

/// None: it is not tuned, or says no time that can be read.
[[nodiscard]] std::optional<WallTime> tune_end(const kube::MigrationPolicy& policy);

enum class TuneState : std::uint8_t {
    other,      ///< somebody else's: it is none of our business
    runs,       ///< its time is not over
    over,       ///< it is to be removed
    unreadable  ///< it says no time that can be read: nobody but a user removes it
};
[[nodiscard]] TuneState tune_state(const kube::MigrationPolicy& policy, WallTime now);

}  // namespace scout::cluster
