// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_names.h"

#include <algorithm>
#include <cstddef>

namespace scout::cluster {
namespace {

constexpr std::string_view prefix = "virt-launcher-";
constexpr std::size_t random_suffix = 5;  ///< "abcde", of Kubernetes
constexpr std::size_t longest_base = 58;  ///< what is before it is cut to that

std::string base_of(std::string_view vm) {
    return (std::string{prefix} + std::string{vm} + "-").substr(0, longest_base);
}

}  // namespace

bool is_launcher_of(std::string_view pod, std::string_view vm) {
    const auto base = base_of(vm);
    return pod.size() == base.size() + random_suffix && pod.starts_with(base);
}

std::string vm_of_launcher(std::string_view pod) {
    if (!pod.starts_with(prefix) || pod.size() < prefix.size() + 2 + random_suffix) {
        return {};
    }
    auto vm = pod.substr(prefix.size());
    vm.remove_suffix(random_suffix + 1);
    return is_launcher_of(pod, vm) ? std::string{vm} : std::string{};
}

bool is_cut_in_launchers(std::string_view vm) noexcept {
    return prefix.size() + vm.size() + 1 > longest_base;
}

bool is_of_another(const Records& records, const kube::SeenEvent& event, std::string_view vm) {
    const bool named = std::any_of(records.launchers.begin(), records.launchers.end(),
                                   [&event, vm](const auto& pod) {
                                       return pod.meta.space == event.space && pod.vmi_name != vm &&
                                              (event.name == pod.meta.name ||
                                               (!event.uid.empty() && event.uid == pod.meta.uid));
                                   });
    return named ||
           std::any_of(records.vmis.begin(), records.vmis.end(), [&event, vm](const auto& vmi) {
               const auto is_it = [&event](const auto& pod) { return event.uid == pod.uid; };
               return vmi.meta.space == event.space && vmi.meta.name != vm &&
                      std::any_of(vmi.active_pods.begin(), vmi.active_pods.end(), is_it);
           });
}

std::string namesake(const Records& records, std::string_view space, std::string_view vm) {
    const auto base = base_of(vm);
    std::string found;
    const auto look = [&found, &base, space, vm](const auto& own_space, const std::string& name) {
        if (found.empty() && name != vm && own_space == space && base_of(name) == base) {
            found = name;
        }
    };
    if (base.size() < longest_base) {
        return found;
    }
    for (const auto& each : records.vms) {
        look(each.meta.space, each.meta.name);
    }
    for (const auto& each : records.vmis) {
        look(each.meta.space, each.meta.name);
    }
    for (const auto& each : records.launchers) {
        look(each.meta.space, each.vmi_name);
    }
    return found;
}

}  // namespace scout::cluster
