// SPDX-License-Identifier: Apache-2.0
#include "migration/label_profile.h"

#include <utility>

namespace scout::migration {
namespace {

std::string libvirt_arch(const std::string& go_arch) {
    if (go_arch == "amd64") {
        return "x86_64";
    }
    return go_arch == "arm64" ? "aarch64" : go_arch;
}

HostModel host_model_of(const StockNode& node, const CpuMap* map) {
    HostModel model{.name = node.host_models.front(), .require = node.required};
    if (const auto* known = map == nullptr ? nullptr : map->find(model.name)) {
        model.disable = subtract(known->features, unite(node.required, node.features));
    }
    return model;
}

std::string why_no_host_model(const StockNode& node) {
    if (!node.host_models.empty()) {
        return "the node's labels are inconsistent: host-models " + join(node.host_models) +
               "; scoutctl labels --check tells what to do";
    }
    if (node.known_models.empty() && node.usable_models.empty() && node.features.empty()) {
        return "the node's labels tell nothing of its CPU: KubeVirt's virt-handler does not run "
               "there, or has not labelled it";
    }
    return "the node's labels name no host-model; see that /dev/kvm is there, and restart "
           "virt-handler on it";
}

}  // namespace

Profile label_profile(const StockNode& node, const CpuMap* map) {
    Profile profile;
    profile.arch = libvirt_arch(node.arch);
    profile.virt_type = "kvm";
    if (node.vendors.size() == 1) {
        profile.vendor = node.vendors.front();
    }
    if (node.host_models.size() == 1) {
        profile.host_model = host_model_of(node, map);
    } else {
        profile.no_host_model = why_no_host_model(node);
    }
    for (const auto& name : unite(node.known_models, node.usable_models)) {
        const auto usable = contains(node.usable_models, name) ? Usable::yes : Usable::no;
        profile.models.push_back({.name = name, .usable = usable, .vendor = {}, .blockers = {}});
    }
    profile.supported_listed = true;
    profile.supported = node.features;
    profile.machines = node.machine_types;
    return profile;
}

HostFacts label_facts(const StockNode& node) {
    HostFacts facts;
    facts.tsc_hz = node.tsc_hz;
    facts.tsc_scalable = node.tsc_scalable;
    return facts;
}

}  // namespace scout::migration
