// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "cluster/objects.h"
#include "cluster/scheduling_objects.h"
#include "kube/decode_text.h"

// Objects of which two want to know something. Included by the sources that read a cluster.

namespace scout::cluster {

/// One object: what it is, and what the scheduler takes of it.
template <class Main, class Aside>
struct Twofold {
    kube::ObjectMeta meta;
    Main main;
    Aside aside;
};

template <class Main, class Aside>
[[nodiscard]] Result<Twofold<Main, Aside>> decode_both(kube::JsonObject& object,
                                                       Result<Main> (*main)(kube::JsonObject&),
                                                       Result<Aside> (*aside)(kube::JsonObject&)) {
    auto other = kube::decode_aside(object, aside);
    if (!other) {
        return fail(std::move(other.error()));
    }
    auto one = main(object);
    if (!one) {
        return fail(std::move(one.error()));
    }
    auto meta = one->meta;
    return Twofold<Main, Aside>{std::move(meta), std::move(*one), std::move(*other)};
}

using NodeAndRoom = Twofold<kube::Node, NodeRoom>;
using VmiAndWishes = Twofold<kube::Vmi, VmiWishes>;
/// Of a pod that is no launcher the first half has no VMI.
using LauncherAndPod = Twofold<kube::LauncherPod, ScheduledPod>;

[[nodiscard]] Result<NodeAndRoom> decode_node_and_room(kube::JsonObject& object);
[[nodiscard]] Result<VmiAndWishes> decode_vmi_and_wishes(kube::JsonObject& object);
[[nodiscard]] Result<LauncherAndPod> decode_launcher_and_pod(kube::JsonObject& object);

/// Each half to where it belongs.
void take_apart(std::vector<NodeAndRoom> nodes, Objects& objects, SchedulingObjects& scheduling);
void take_apart(std::vector<VmiAndWishes> vmis, Objects& objects, SchedulingObjects& scheduling);
void take_apart(std::vector<LauncherAndPod> pods, Objects& objects, SchedulingObjects& scheduling);

}  // namespace scout::cluster
