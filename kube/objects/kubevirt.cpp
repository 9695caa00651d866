// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/kubevirt.h"

#include "kube/objects/read_migration_settings.h"

namespace scout::kube {
namespace {

struct ArchitectureMachines {
    std::vector<ArchitectureMachine>& target;
};

/// What is in the KubeVirt object's section of that name.
struct Migrations {
    KubeVirt& kubevirt;
};

struct OptionalKeys {
    std::optional<std::vector<SharedText>>& target;
};

}  // namespace

Status read_json(JsonValue value, QuantityText& target) {
    if (const auto number = value.integer()) {
        target.target = SharedText{std::to_string(*number)};
        return {};
    }
    return read_json(value, target.target);
}

[[nodiscard]] static Status read_json(JsonValue value, ArchitectureMachines& target) {
    target.target.clear();
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        const auto null = item.is_null();
        if (null && *null) {
            return {};
        }
        SharedText machine;
        auto status = read_members(item, Field{"machineType", machine});
        if (status && !machine.empty()) {
            target.target.push_back({item.texts().get(key), std::move(machine)});
        }
        return status;
    });
}

[[nodiscard]] static Status read_json(JsonValue value, OptionalKeys& target) {
    Keys keys{target.target.emplace()};
    return read_json(value, keys);
}

[[nodiscard]] static Status read_json(JsonValue value, Migrations& target) {
    auto& settings = target.kubevirt.migrations;
    auto& levels = target.kubevirt.levels;
    return read_migration_settings(
        value, settings, Field{"parallelOutboundMigrationsPerNode", settings.outbound_per_node},
        Field{"parallelMigrationsPerCluster", settings.per_cluster},
        Field{"progressTimeout", settings.progress_seconds}, Field{"network", settings.network},
        Field{"nodeDrainTaintKey", settings.node_drain_taint},
        Field{"disableTLS", settings.disable_tls},
        Field{"requireHostModelMigratabilityLevel", levels.required},
        Field{"preferedHostModelMigratabilityLevel", levels.prefered},
        Field{"preferredHostModelMigratabilityLevel", levels.preferred});
}

Result<KubeVirt> decode_kubevirt(JsonObject& object) {
    KubeVirt kubevirt;
    ArchitectureMachines machines{kubevirt.architecture_machines};
    OptionalKeys obsolete{kubevirt.obsolete_cpu_models};
    Migrations migrations{kubevirt};
    const Nested developer{"developerConfiguration", Field{"featureGates", kubevirt.feature_gates},
                           Field{"disabledFeatureGates", kubevirt.disabled_feature_gates},
                           Field{"nodeSelectors", kubevirt.node_selectors}};
    const Nested configuration{"configuration",
                               developer,
                               Field{"evictionStrategy", kubevirt.eviction_strategy},
                               Field{"cpuModel", kubevirt.cpu_model},
                               Field{"machineType", kubevirt.machine},
                               Field{"vmRolloutStrategy", kubevirt.rollout_strategy},
                               Field{"architectureConfiguration", machines},
                               Field{"obsoleteCPUModels", obsolete},
                               Field{"migrations", migrations}};
    const Nested state{"status", Field{"phase", kubevirt.phase},
                       Field{"observedKubeVirtVersion", kubevirt.observed_version},
                       Field{"operatorVersion", kubevirt.operator_version},
                       Field{"defaultArchitecture", kubevirt.default_architecture}};
    auto status =
        object.read(metadata(kubevirt.meta, Field{"deletionTimestamp", kubevirt.deletion}),
                    Nested{"spec", configuration}, state);
    return decoded(std::move(kubevirt), std::move(status));
}

}  // namespace scout::kube
