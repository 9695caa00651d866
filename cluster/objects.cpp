// SPDX-License-Identifier: Apache-2.0
#include "cluster/objects.h"

#include <algorithm>
#include <string>

#include "base/edit_distance.h"

namespace scout::cluster {
namespace {

Error no_such_node(const std::vector<kube::Node>& nodes, std::string_view name) {
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const auto& node : nodes) {
        names.push_back(node.meta.name);
    }
    const auto near = nearest(name, names);
    return {Errc::not_found, "no node '" + std::string{name} + "'" +
                                 (near.empty() ? std::string{} : "; did you mean '" + near + "'?")};
}

}  // namespace

const kube::KubeVirt* kubevirt_in_force(const std::vector<kube::KubeVirt>& kubevirts) noexcept {
    const auto found =
        std::find_if(kubevirts.begin(), kubevirts.end(),
                     [](const kube::KubeVirt& kubevirt) { return !kubevirt.phase.empty(); });
    if (found == kubevirts.end()) {
        return kubevirts.size() == 1 ? &kubevirts.front() : nullptr;
    }
    return &*found;
}

const kube::ScoutConfig* config_in_force(const std::vector<kube::ScoutConfig>& configs) noexcept {
    const auto found = std::find_if(configs.begin(), configs.end(), [](const auto& config) {
        return config.meta.name == kube::ScoutConfig::name_in_force;
    });
    return found == configs.end() ? nullptr : &*found;
}

Result<const kube::Node*> find_node(const Objects& objects, std::string_view name) {
    const auto& nodes = objects.nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(), [name](const kube::Node& node) {
        return node.meta.name == name;
    });
    if (found == nodes.end()) {
        return fail(no_such_node(nodes, name));
    }
    return &*found;
}

}  // namespace scout::cluster
