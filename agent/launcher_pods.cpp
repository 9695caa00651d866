// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher_pods.h"

#include <utility>

namespace scout::agent {

std::function<std::vector<LauncherPod>()> launcher_pods(const launcher::Launchers* launchers) {
    if (launchers == nullptr) {
        return {};
    }
    return [launchers] {
        std::vector<LauncherPod> pods;
        for (const auto& [uid, one] : launchers->launchers().launchers()) {
            LauncherPod pod{.pod_uid = uid, .guest = {}, .vm_grace = {}};
            if (one.domain) {
                pod.guest = one.domain->space + "/" + one.domain->name;
                pod.vm_grace = one.domain->grace;
            }
            pods.push_back(std::move(pod));
        }
        return pods;
    };
}

}  // namespace scout::agent
