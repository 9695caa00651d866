// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/object.hpp>

namespace scout::aggregator {

/// As KubeVirt's labeller leaves them on a node whose host-model M requires this feature: guests of
/// nodes of one architecture with the same feature can go to each other.
[[nodiscard]] inline boost::json::object node_labels(const std::string& arch,
                                                     const std::string& feature) {
    return {{"kubernetes.io/arch", arch},
            {"kubevirt.io/schedulable", "true"},
            {"host-model-cpu.node.kubevirt.io/M", "true"},
            {"host-model-required-features.node.kubevirt.io/" + feature, "true"},
            {"cpu-feature.node.kubevirt.io/" + feature, "true"},
            {"cpu-model-migration.node.kubevirt.io/M", "true"},
            {"cpu-vendor.node.kubevirt.io/V", "true"},
            {"machine-type.node.kubevirt.io/q35", "true"}};
}

/// By what a launcher pod shows that its VM is of host-model.
inline constexpr const char* host_model_affinity =
    R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"node-labeller.kubevirt.io/obsolete-host-model",
                              "operator":"DoesNotExist"}]}]}}})";

}  // namespace scout::aggregator
