// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "cluster/name_list.h"
#include "cluster/vm_placement.h"

namespace scout::cluster {
namespace {

std::string listed(const std::vector<const kube::Vmi*>& vmis) {
    std::vector<std::string> names;
    names.reserve(vmis.size());
    for (const auto* vmi : vmis) {
        names.push_back(full_name(vmi->meta));
    }
    return first_names(names);
}

Error no_such_vmi(const Objects& objects, std::string_view name, std::string_view node) {
    std::vector<std::string> names;
    for (const auto& vmi : objects.vmis) {
        names.push_back(vmi.meta.name);
        names.push_back(full_name(vmi.meta));
    }
    const auto near = nearest(name, names);
    const bool is_node = std::any_of(objects.nodes.begin(), objects.nodes.end(),
                                     [name](const auto& one) { return one.meta.name == name; });
    if (is_node) {
        return {Errc::not_found, "no VMI '" + std::string{name} +
                                     "', but a node is called so: for a guest of host-model that "
                                     "starts there ask for 'host-model@" +
                                     std::string{name} + "'"};
    }
    return {Errc::not_found,
            "no VMI '" + std::string{name} + "'" +
                (node.empty() ? "" : " on node " + std::string{node}) +
                (near.empty() || near == name ? "" : "; did you mean '" + near + "'?") +
                (objects.vmis.empty() ? "; there are no VMIs at all among the objects: give them "
                                        "too, or have the right to list them"
                                      : "")};
}

}  // namespace

std::string full_name(const kube::ObjectMeta& meta) {
    return meta.space.empty() ? meta.name : meta.space.str() + "/" + meta.name;
}

Result<const kube::Vmi*> find_vmi(const Objects& objects, std::string_view name,
                                  std::string_view node) {
    std::vector<const kube::Vmi*> found;
    for (const auto& vmi : objects.vmis) {
        const bool named = vmi.meta.name == name || full_name(vmi.meta) == name ||
                           (!name.empty() && vmi.meta.uid == name);
        if (named && (node.empty() || vmi.node == node)) {
            found.push_back(&vmi);
        }
    }
    if (found.empty()) {
        return fail(no_such_vmi(objects, name, node));
    }
    if (found.size() > 1) {
        return fail(Errc::invalid, "several VMIs are called '" + std::string{name} +
                                       "': " + listed(found) + "; name one as NAMESPACE/NAME");
    }
    return found.front();
}

}  // namespace scout::cluster
