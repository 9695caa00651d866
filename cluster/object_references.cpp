// SPDX-License-Identifier: Apache-2.0
#include "cluster/object_references.h"

#include <utility>

namespace scout::cluster {
namespace {

kube::ObjectReference of_kubevirt(std::string kind, std::string space, std::string name,
                                  std::string uid) {
    return {.api_version = "kubevirt.io/v1",
            .kind = std::move(kind),
            .space = std::move(space),
            .name = std::move(name),
            .uid = std::move(uid)};
}

}  // namespace

kube::ObjectReference vmi_reference(std::string space, std::string name, std::string uid) {
    return of_kubevirt("VirtualMachineInstance", std::move(space), std::move(name), std::move(uid));
}

kube::ObjectReference move_reference(std::string space, std::string name, std::string uid) {
    return of_kubevirt("VirtualMachineInstanceMigration", std::move(space), std::move(name),
                       std::move(uid));
}

}  // namespace scout::cluster
