// SPDX-License-Identifier: Apache-2.0
#include "cluster/twofold.h"

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

void take_apart(std::vector<NodeAndRoom> nodes, Objects& objects, SchedulingObjects& scheduling) {
    for (auto& each : nodes) {
        objects.nodes.push_back(std::move(each.main));
        scheduling.rooms.push_back(std::move(each.aside));
    }
}

void take_apart(std::vector<VmiAndWishes> vmis, Objects& objects, SchedulingObjects& scheduling) {
    for (auto& each : vmis) {
        objects.vmis.push_back(std::move(each.main));
        scheduling.wishes.push_back(std::move(each.aside));
    }
}

void take_apart(std::vector<LauncherAndPod> pods, Objects& objects, SchedulingObjects& scheduling) {
    for (auto& each : pods) {
        if (!each.main.vmi_uid.empty()) {
            objects.launchers.push_back(std::move(each.main));
        }
        scheduling.pods.push_back(std::move(each.aside));
    }
}

}  // namespace scout::cluster
