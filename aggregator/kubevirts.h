// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "kube/informer.h"
#include "kube/objects/kubevirt.h"

namespace scout::aggregator {

/// A copy of what the informer knows, as the pure functions take it: there is one, rarely two, in
/// the order of cluster::Objects, so that all replicas take the same one for the one in force.
[[nodiscard]] inline std::vector<kube::KubeVirt> kubevirts_of(
    const kube::Informer<kube::KubeVirt>& informer) {
    std::vector<kube::KubeVirt> objects;
    informer.each([&objects](const auto& object) { objects.push_back(*object); });
    std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) {
        return std::tie(a.meta.space, a.meta.name) < std::tie(b.meta.space, b.meta.name);
    });
    return objects;
}

}  // namespace scout::aggregator
