// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/labels.h"
#include "migration/node_selector.h"
#include "migration/scheduling/label_selector.h"

/// What kube-scheduler goes by when it places a pod. Plain data.
namespace scout::migration::scheduling {

/// Amounts by the names of resources: "cpu" in thousandths of a core, others in bytes or pieces.
using Resources = std::map<std::string, std::int64_t, std::less<>>;

struct Taint {
    std::string key;
    std::string value;
    std::string effect;  ///< NoSchedule, PreferNoSchedule, NoExecute

    friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
    std::string key;  ///< empty: any
    std::string op;   ///< Exists, or Equal, which empty means too
    std::string value;
    std::string effect;  ///< empty: any

    friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct HostPort {
    std::string address;   ///< empty: all
    std::string protocol;  ///< empty: TCP
    std::int64_t port = 0;

    friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// One of a pod's required affinity or anti-affinity terms: other pods, and what nodes have in
/// common with theirs.
struct PodTerm {
    std::optional<LabelSelector> pods;          ///< none: no pod
    std::vector<std::string> spaces;            ///< namespaces
    std::optional<LabelSelector> space_labels;  ///< with neither: the pod's own namespace
    std::string topology;                       ///< key of a node label
    /// Of a term that is still to be merged, matchLabelKeys and mismatchLabelKeys: the API server
    /// does that when a pod is made, so those that are there have it behind them.
    std::vector<std::string> label_keys;
    std::vector<std::string> unlike_label_keys;

    friend bool operator==(const PodTerm&, const PodTerm&) = default;
};

/// One of a pod's topology spread constraints with DoNotSchedule.
struct SpreadConstraint {
    std::int64_t max_skew = 1;
    std::int64_t min_domains = 1;
    std::string topology;
    std::optional<LabelSelector> pods;
    std::vector<std::string> label_keys;  ///< matchLabelKeys
    bool honors_affinity = true;          ///< nodeAffinityPolicy
    bool honors_taints = false;           ///< nodeTaintsPolicy

    friend bool operator==(const SpreadConstraint&, const SpreadConstraint&) = default;
};

/// A pod that has a node, or is to get one. Of those that have one only the first half counts.
struct Pod {
    std::string space;
    std::string name;
    std::string node;  ///< empty: none yet
    Labels labels;
    bool deleting = false;
    Resources requests;  ///< of all of its containers together
    std::vector<HostPort> ports;
    std::vector<std::string> claims;  ///< PersistentVolumeClaims of its namespace
    std::vector<PodTerm> affinity;
    std::vector<PodTerm> anti_affinity;

    Labels node_selector;
    std::optional<std::vector<NodeSelectorTerm>> node_terms;  ///< one of them must match
    std::vector<Toleration> tolerations;
    std::vector<SpreadConstraint> spread;
    /// What else decides where it can go and is not looked at here, by the names of the fields.
    std::vector<std::string> not_judged;
};

struct Node {
    std::string name;
    Labels labels;
    std::vector<Taint> taints;
    bool unschedulable = false;
    std::optional<Resources> allocatable;  ///< none: not known
    /// Most volumes of CSI drivers at once, by driver.
    std::map<std::string, std::int64_t, std::less<>> volume_limits;
    /// Names of PersistentVolumes that are attached, whether a pod is there or not.
    std::vector<std::string> attached;
};

/// A PersistentVolumeClaim.
struct Claim {
    std::string volume;       ///< that it is bound to; empty: to none
    std::string provisioner;  ///< of its storage class; empty: not known
    bool bound = false;       ///< completely
    bool lost = false;        ///< bound to a volume that is no more
    bool deleting = false;
    bool one_pod = false;  ///< ReadWriteOncePod
    bool shared = false;   ///< ReadWriteMany
};

/// A PersistentVolume.
struct Volume {
    Labels labels;
    std::optional<std::vector<NodeSelectorTerm>> node_terms;  ///< nodeAffinity.required
    std::string driver;                                       ///< CSI; empty: another kind
    std::string handle;
    bool translated = false;  ///< of a kind that CSI migration turns into another
};

/// A cluster at one moment. Of a map that is none nothing was told; in one that was told, what is
/// not there is not.
struct Cluster {
    std::vector<Node> nodes;
    std::vector<Pod> pods;  ///< those that have not ended
    std::optional<std::map<std::string, Labels, std::less<>>> spaces;   ///< namespaces by name
    std::optional<std::map<std::string, Claim, std::less<>>> claims;    ///< by "NAMESPACE/NAME"
    std::optional<std::map<std::string, Volume, std::less<>>> volumes;  ///< by name

    /// Null: it is not there, or was not told.
    [[nodiscard]] const Claim* find_claim(std::string_view space, std::string_view name) const;
};

/// "NAMESPACE/NAME"
[[nodiscard]] std::string claim_key(std::string_view space, std::string_view name);

}  // namespace scout::migration::scheduling
