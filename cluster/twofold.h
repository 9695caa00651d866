// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/dump.h"
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
    std::string fault;  ///< why there is nothing in `aside`; empty: there is
};

template <class Main, class Aside>
[[nodiscard]] Result<Twofold<Main, Aside>> decode_both(kube::JsonObject& object,
                                                       Result<Main> (*main)(kube::JsonObject&),
                                                       Result<Aside> (*aside)(kube::JsonObject&)) {
    auto other = kube::decode_aside(object, aside);
    auto one = main(object);
    if (!one) {
        return fail(std::move(one.error()));
    }
    auto meta = one->meta;
    Twofold<Main, Aside> out{std::move(meta), std::move(*one), {}, {}};
    if (other) {
        out.aside = std::move(*other);
    } else {
        out.fault = std::move(other.error().message);
    }
    return out;
}

using NodeAndRoom = Twofold<kube::Node, NodeRoom>;
using VmiAndWishes = Twofold<kube::Vmi, VmiWishes>;
/// Of a pod that is no launcher the first half has no VMI.
using LauncherAndPod = Twofold<kube::LauncherPod, ScheduledPod>;

[[nodiscard]] Result<NodeAndRoom> decode_node_and_room(kube::JsonObject& object);
[[nodiscard]] Result<VmiAndWishes> decode_vmi_and_wishes(kube::JsonObject& object);
[[nodiscard]] Result<LauncherAndPod> decode_launcher_and_pod(kube::JsonObject& object);

/// Each half to where it belongs. A second half that could not be read is left out with the reason,
/// and what the object is remains known.
class TakeApart {
public:
    TakeApart(Objects& objects, SchedulingObjects& scheduling, std::vector<LeftOut>& left_out)
        : objects_(objects), scheduling_(scheduling), left_out_(left_out) {}

    void take(std::vector<NodeAndRoom> nodes);
    void take(std::vector<VmiAndWishes> vmis);
    void take(std::vector<LauncherAndPod> pods);

private:
    template <class Main, class Aside>
    void take_aside(Twofold<Main, Aside>& each, std::vector<Aside>& asides);

    Objects& objects_;
    SchedulingObjects& scheduling_;
    std::vector<LeftOut>& left_out_;
};

}  // namespace scout::cluster
