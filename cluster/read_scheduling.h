// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kube/json.h"
#include "migration/scheduling/cluster.h"
#include "migration/scheduling/requests.h"

// Reading what pods and VMIs share. Included by decoders' sources only.

namespace scout::cluster {

/// A v1 Affinity, of which only what is required counts.
struct AffinityOf {
    migration::scheduling::Pod& pod;
};
[[nodiscard]] Status read_json(kube::JsonValue value, AffinityOf& target);

/// Those of spec.topologySpreadConstraints that may keep a pod away.
struct SpreadOf {
    migration::scheduling::Pod& pod;
};
[[nodiscard]] Status read_json(kube::JsonValue value, SpreadOf& target);

struct TolerationsOf {
    migration::scheduling::Pod& pod;
};
[[nodiscard]] Status read_json(kube::JsonValue value, TolerationsOf& target);

/// A v1 NodeSelector, or the nodeSelectorTerms of one.
struct NodeTerms {
    std::optional<std::vector<migration::NodeSelectorTerm>>& target;
};
[[nodiscard]] Status read_json(kube::JsonValue value, NodeTerms& target);

struct PlainLabels {
    migration::Labels& target;
};
[[nodiscard]] Status read_json(kube::JsonValue value, PlainLabels& target);

/// Amounts by name, of the resources that the scheduler counts.
struct Amounts {
    migration::scheduling::Resources& target;
};
[[nodiscard]] Status read_json(kube::JsonValue value, Amounts& target);

}  // namespace scout::cluster
