// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/scout_config.h"

#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

struct Placement {
    LevelDemands& target;
};

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, Placement& target) {
    return read_with_demands(value, target.target);
}

Result<ScoutConfig> decode_scout_config(JsonObject& object) {
    ScoutConfig config;
    Placement placement{config.placement};
    const Nested levels{
        "levels", Field{"layer", config.layer}, Field{"machineType", config.machine_type},
        Field{"cordonedFor", config.cordoned_for}, Field{"notReadyFor", config.not_ready_for}};
    const Nested evacuation{"evacuation", Field{"mode", config.evacuation_mode},
                            Field{"reserveSeconds", config.evacuation_reserve},
                            Field{"patienceSeconds", config.evacuation_patience},
                            Field{"escalation", config.evacuation_escalation}};
    const Nested pressure{"pressure", Field{"mode", config.pressure_mode},
                          Field{"movesPerMinute", config.pressure_moves_per_minute}};
    const Nested policies{"policies", Field{"lint", config.policy_lint}};
    const Nested history{"history", Field{"keep", config.history_keep}};
    auto status =
        object.read(metadata(config.meta, Field{"generation", config.generation}),
                    Nested{"spec", levels, Field{"placement", placement}, evacuation, pressure,
                           policies, history},
                    Nested{"status", Field{"observedGeneration", config.observed_generation},
                           Field{"conditions", config.conditions}});
    return decoded(std::move(config), std::move(status));
}

}  // namespace scout::kube
