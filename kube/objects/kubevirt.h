// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kube/objects/level_demands.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;

/// spec.configuration.migrations; what is absent is KubeVirt's default (dossier §7).
struct MigrationSettings {
    std::optional<std::int64_t> outbound_per_node;
    std::optional<std::int64_t> per_cluster;
    std::optional<std::int64_t> completion_seconds_per_gib;
    std::optional<std::int64_t> progress_seconds;
    std::optional<std::int64_t> max_downtime_ms;
    SharedText bandwidth;  ///< a quantity; a plain number comes as its digits
    SharedText network;
    SharedText node_drain_taint;
    std::optional<bool> allow_auto_converge;
    std::optional<bool> allow_post_copy;
    std::optional<bool> allow_workload_disruption;
    std::optional<bool> disable_tls;

    bool operator==(const MigrationSettings&) const = default;
};

/// spec.configuration.architectureConfiguration.<architecture>.machineType
struct ArchitectureMachine {
    SharedText architecture;
    SharedText machine;

    bool operator==(const ArchitectureMachine&) const = default;
};

/// What we use of the kubevirt.io/v1 KubeVirt object (dossier §10).
struct KubeVirt {
    ObjectMeta meta;

    SharedText eviction_strategy;
    SharedText cpu_model;
    SharedText machine;
    SharedText rollout_strategy;
    std::vector<ArchitectureMachine> architecture_machines;
    /// The keys count, whatever their values. Absent and empty differ: dossier §5.2.
    std::optional<std::vector<SharedText>> obsolete_cpu_models;
    std::vector<SharedText> feature_gates;
    std::vector<SharedText> disabled_feature_gates;
    Labels node_selectors;
    MigrationSettings migrations;

    /// Of spec.configuration.migrations, where the served schema has these fields.
    LevelDemands levels;

    SharedText phase;  ///< of the object that is in force it is set
    SharedText observed_version;
    SharedText operator_version;
    SharedText default_architecture;
    std::optional<WallTime> deletion;

    bool operator==(const KubeVirt&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<KubeVirt> decode_kubevirt(JsonObject& object);

}  // namespace scout::kube
