// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/launcher_pod.h"

#include <algorithm>
#include <utility>

#include "kube/objects/read_launcher.h"
#include "kube/objects/read_meta.h"
#include "kube/objects/read_pod.h"

namespace scout::kube {
namespace {

bool ended_well(const PodRecord& record) {
    return record.phase == "Succeeded" && !record.deletion && record.reason.empty() &&
           std::all_of(record.containers.begin(), record.containers.end(),
                       [](const auto& container) { return container.exit_code.value_or(0) == 0; });
}

/// Takes over what tells of its end, if there is something.
void take_ending(LauncherPod& pod, PodRecord record) {
    pod.ended = end_of_launcher(record);
    std::erase_if(record.conditions, [](const Condition& condition) {
        return condition.type != "DisruptionTarget" || condition.status != "True";
    });
    const bool ends = pod.is_final() || pod.deletion || !record.conditions.empty();
    if (!ends || (record.conditions.empty() && ended_well(record))) {
        return;
    }
    record.meta = pod.meta;
    record.vmi_name = pod.vmi_name;
    record.vmi_uid = pod.vmi_uid;
    record.migration_uid = pod.migration_uid;
    record.node = pod.node;
    pod.ending = std::make_shared<const PodRecord>(std::move(record));
}

}  // namespace

bool LauncherPod::is_final() const noexcept {
    return is_final_phase(phase.view());
}

Result<LauncherPod> decode_launcher_pod(JsonObject& object) {
    LauncherPod pod;
    PodRecord record;
    std::optional<LauncherGrace> grace;
    LauncherContainers containers{grace};
    InitRequests init_containers{pod.requests.init_containers};
    std::vector<ContainerStatus> states;
    auto status = object.read(
        metadata(pod.meta,
                 Nested{"labels", Field{"kubevirt.io/created-by", pod.vmi_uid},
                        Field{"kubevirt.io/migrationJobUID", pod.migration_uid}},
                 Nested{"annotations", Field{"kubevirt.io/domain", pod.vmi_name}},
                 Field{"creationTimestamp", record.creation},
                 Field{"deletionTimestamp", pod.deletion},
                 Field{"deletionGracePeriodSeconds", pod.deletion_grace}),
        Nested{"spec", Field{"nodeName", pod.node}, Field{"nodeSelector", pod.node_selector},
               Field{"terminationGracePeriodSeconds", pod.grace}, Field{"priority", pod.priority},
               Field{"containers", containers}, Field{"initContainers", init_containers},
               Field{"overhead", pod.requests.overhead}},
        Nested{"status", Field{"phase", pod.phase}, Field{"reason", record.reason},
               Field{"message", record.message}, Field{"conditions", record.conditions},
               Field{"containerStatuses", states}});
    pod.requests.containers = std::move(containers.requests);
    if (grace) {
        pod.launcher_grace = grace->time;
    }
    record.phase = pod.phase;
    record.deletion = pod.deletion;
    record.deletion_grace = pod.deletion_grace;
    record.containers = containers_of(states, containers.specs);
    take_ending(pod, std::move(record));
    return decoded(std::move(pod), std::move(status));
}

}  // namespace scout::kube
