// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/registry.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/node.h"

namespace scout::aggregator {

/// Tells people by an Event on the Node object when its agent expects a signal to reach a threshold
/// of the kubelet. One that is expected again is the same Event that happened again. Only while
/// this process leads; agents of nodes that are no objects are passed over.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it, and it the
/// registry's last change.
class PressureEvents {
public:
    PressureEvents(const kube::Informer<kube::Node>& nodes, const kube::LeaderElector& elector,
                   kube::EventRecorder& events)
        : nodes_(nodes), elector_(elector), events_(events) {}

    /// Takes what agents tell from now on.
    void follow(Registry& registry);

private:
    void take(const Node& node, const migration::PressureReport* before);

    const kube::Informer<kube::Node>& nodes_;
    const kube::LeaderElector& elector_;
    kube::EventRecorder& events_;
};

}  // namespace scout::aggregator
