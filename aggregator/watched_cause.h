// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cluster/records.h"
#include "kube/informer.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"
#include "migration/cause.h"

/// What ends a launcher, by the objects that informers keep. Loop thread.
namespace scout::aggregator {

struct WatchedObjects {
    const kube::Informer<kube::Node>& nodes;
    const kube::Informer<kube::Vmi>& vmis;
};

/// The launcher, its VMI and its node, as far as they are there. Either may be null.
[[nodiscard]] cluster::Records records_around(const WatchedObjects& objects,
                                              const kube::LauncherPod* pod, const kube::Vmi* vmi);

/// By such records, to which Events may have been added.
[[nodiscard]] migration::CauseFacts watched_facts(const WatchedObjects& objects,
                                                  const cluster::Records& records);

}  // namespace scout::aggregator
