// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cluster/cpu_profile.h"
#include "cluster/objects.h"
#include "kube/objects/node.h"
#include "migration/cpu_map.h"
#include "migration/profile.h"
#include "migration/stock_gate.h"

/// By what the truth layer knows a node; the stock layer always goes by its labels. Pure.
namespace scout::cluster {

struct NodeProfile {
    const CpuProfile* object = nullptr;  ///< null: the node's labels
    std::string why_labels;  ///< of a node that names a profile: why not by that one, one clause
};

/// `named`: the object that the node's annotation names, null if there is none. It is used while it
/// agrees with the labels on architecture, vendor and host-model: where they differ the labels were
/// renewed after it, or somebody else wrote the annotation, and migrations go by labels.
[[nodiscard]] NodeProfile node_profile(const kube::Node& node, const migration::StockNode& stock,
                                       const CpuProfile* named);
[[nodiscard]] NodeProfile node_profile(const kube::Node& node, const migration::StockNode& stock,
                                       const Objects& objects);

/// The profile of the object, else the one that the labels tell.
[[nodiscard]] migration::Profile truth_profile(const NodeProfile& chosen,
                                               const migration::StockNode& stock,
                                               const migration::CpuMap* map);

/// The name in an annotation of the node; empty if there is none, or what is there is no name of a
/// profile.
[[nodiscard]] std::string_view named_profile(const kube::Node& node,
                                             std::string_view annotation = profile_annotation);

/// Null if there is none.
[[nodiscard]] const CpuProfile* find_profile(const Objects& objects, std::string_view name);

}  // namespace scout::cluster
