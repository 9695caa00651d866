// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/labels.h"
#include "kube/shared_text.h"

namespace scout::kube {

/// What names an object and its state.
struct ObjectMeta {
    SharedText space;  ///< namespace; empty for cluster-scoped kinds
    std::string name;
    std::string uid;
    std::string version;  ///< resourceVersion

    bool operator==(const ObjectMeta&) const = default;
};

/// One entry of a status' conditions.
struct Condition {
    SharedText type;
    SharedText status;  ///< True, False, Unknown
    SharedText reason;
    SharedText message;
    WallTime since;  ///< lastTransitionTime; the epoch if not given

    bool operator==(const Condition&) const = default;
};

/// One entry of a status' phaseTransitionTimestamps.
struct PhaseTime {
    SharedText phase;
    WallTime at;

    bool operator==(const PhaseTime&) const = default;
};

/// Of pods, VMIs and migrations: "Succeeded" or "Failed".
[[nodiscard]] bool is_final_phase(std::string_view phase) noexcept;
/// When it came to a final phase; none: it has not, or does not tell.
[[nodiscard]] std::optional<WallTime> final_time(const std::vector<PhaseTime>& phases) noexcept;

/// The condition of that type, or null.
[[nodiscard]] const Condition* find_condition(const std::vector<Condition>& conditions,
                                              std::string_view type) noexcept;

/// The annotations that are ours, by their prefix "virt-scout.io/".
inline constexpr std::string_view our_annotations = "virt-scout.io/";

/// KubeVirt's, of a migration (dossier §6.5): the node that is left, and the launcher's update.
inline constexpr std::string_view evacuation_annotation = "kubevirt.io/evacuationMigration";
inline constexpr std::string_view workload_update_annotation =
    "kubevirt.io/workloadUpdateMigration";

}  // namespace scout::kube
