// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/launcher_pod.h"

#include "kube/objects/read_launcher.h"
#include "kube/objects/read_meta.h"

namespace scout::kube {

Result<LauncherPod> decode_launcher_pod(JsonObject& object) {
    LauncherPod pod;
    std::optional<LauncherGrace> grace;
    LauncherContainers containers{grace};
    auto status = object.read(
        metadata(pod.meta,
                 Nested{"labels", Field{"kubevirt.io/created-by", pod.vmi_uid},
                        Field{"kubevirt.io/migrationJobUID", pod.migration_uid}},
                 Nested{"annotations", Field{"kubevirt.io/domain", pod.vmi_name}},
                 Field{"deletionTimestamp", pod.deletion},
                 Field{"deletionGracePeriodSeconds", pod.deletion_grace}),
        Nested{"spec", Field{"nodeName", pod.node}, Field{"nodeSelector", pod.node_selector},
               Field{"terminationGracePeriodSeconds", pod.grace}, Field{"containers", containers}},
        Nested{"status", Field{"phase", pod.phase}});
    if (grace) {
        pod.launcher_grace = grace->time;
    }
    return decoded(std::move(pod), std::move(status));
}

}  // namespace scout::kube
