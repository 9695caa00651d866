// SPDX-License-Identifier: Apache-2.0
#include "cluster/twofold.h"

#include "cluster/vm_placement.h"

namespace scout::cluster {

Result<NodeAndRoom> decode_node_and_room(kube::JsonObject& object) {
    return decode_both(object, &kube::decode_node, &decode_node_room);
}

Result<VmiAndWishes> decode_vmi_and_wishes(kube::JsonObject& object) {
    return decode_both(object, &kube::decode_vmi, &decode_vmi_wishes);
}

Result<LauncherAndPod> decode_launcher_and_pod(kube::JsonObject& object) {
    return decode_both(object, &kube::decode_launcher_pod, &decode_scheduled_pod);
}

template <class Main, class Aside>
void TakeApart::take_aside(Twofold<Main, Aside>& each, std::vector<Aside>& asides) {
    if (each.fault.empty()) {
        asides.push_back(std::move(each.aside));
        return;
    }
    left_out_.push_back({.place = full_name(each.meta), .reason = "not placed by: " + each.fault});
}

void TakeApart::take(std::vector<NodeAndRoom> nodes) {
    for (auto& each : nodes) {
        take_aside(each, scheduling_.rooms);
        objects_.nodes.push_back(std::move(each.main));
    }
}

void TakeApart::take(std::vector<VmiAndWishes> vmis) {
    for (auto& each : vmis) {
        scheduling_.all_wishes = scheduling_.all_wishes && each.fault.empty();
        take_aside(each, scheduling_.wishes);
        objects_.vmis.push_back(std::move(each.main));
    }
}

void TakeApart::take(std::vector<LauncherAndPod> pods) {
    for (auto& each : pods) {
        take_aside(each, scheduling_.pods);
        if (!each.main.vmi_uid.empty()) {
            objects_.launchers.push_back(std::move(each.main));
        }
    }
}

}  // namespace scout::cluster
