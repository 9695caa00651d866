// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kube/informer.h"
#include "kube/objects/kubevirt.h"

namespace scout::aggregator {

/// A copy of what the informer knows, as the pure functions take it: there is one, rarely two.
[[nodiscard]] inline std::vector<kube::KubeVirt> kubevirts_of(
    const kube::Informer<kube::KubeVirt>& informer) {
    std::vector<kube::KubeVirt> objects;
    informer.each([&objects](const auto& object) { objects.push_back(*object); });
    return objects;
}

}  // namespace scout::aggregator
