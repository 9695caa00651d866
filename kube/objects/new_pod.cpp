// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/new_pod.h"

#include "kube/objects/read_launcher.h"
#include "kube/objects/read_meta.h"

namespace scout::kube {

Result<NewPod> decode_new_pod(PaddedText object) {
    TextPool texts;
    JsonReader reader{texts};
    auto document = reader.parse(object);
    if (!document) {
        return fail(std::move(document.error()));
    }
    NewPod pod;
    RawObject affinity{pod.affinity};
    LauncherContainers containers{pod.launcher_grace};
    auto status =
        document->read(Nested{"metadata",
                              Nested{"labels", Field{"kubevirt.io", pod.role},
                                     Field{"kubevirt.io/created-by", pod.vmi_uid},
                                     Field{"kubevirt.io/migrationJobUID", pod.migration_uid}},
                              Nested{"annotations", Field{"kubevirt.io/domain", pod.vmi_name},
                                     Field{"kubevirt.io/migrationJobName", pod.migration},
                                     Field{grace_key, pod.wanted_grace}}},
                       Nested{"spec",
                              Nested{"nodeSelector", Field{"kubernetes.io/arch", pod.arch},
                                     Field{target_term_key, pod.target_term}},
                              Field{"affinity", affinity}, Field{"containers", containers},
                              Field{"terminationGracePeriodSeconds", pod.grace}});
    return decoded(std::move(pod), std::move(status));
}

}  // namespace scout::kube
