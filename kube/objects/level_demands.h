// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace scout::kube {

/// A preference for hosts of at least that level. Ranges are the reader's to check.
struct PreferredLevel {
    std::optional<std::int64_t> level;
    std::optional<std::int64_t> weight;

    bool operator==(const PreferredLevel&) const = default;
};

/// What is asked of the level of a host-model guest's first node, by the proposal's own names
/// requireHostModelMigratabilityLevel and preferedHostModelMigratabilityLevel; the second is taken
/// in both spellings.
struct LevelDemands {
    std::optional<std::int64_t> required;
    std::optional<PreferredLevel> prefered;
    std::optional<PreferredLevel> preferred;

    bool operator==(const LevelDemands&) const = default;
};

}  // namespace scout::kube
