// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/objects.h"
#include "cluster/target_rendering.h"
#include "migration/comparison.h"
#include "migration/scheduling/filters.h"

namespace scout::cluster {

/// What kube-scheduler would say of the target pod of a VMI's next migration, beyond the labels
/// that KubeVirt asks for (those are migration/target_pod.h). Refers to all that it is given; the
/// objects must have their `scheduling`.
class VmScheduling {
public:
    /// `launcher`: runs it now; null if it is not known.
    VmScheduling(const Objects& objects, const kube::Vmi& vmi, const kube::LauncherPod* launcher,
                 const migration::TargetPod& target);
    VmScheduling(const VmScheduling&) = delete;
    VmScheduling& operator=(const VmScheduling&) = delete;
    VmScheduling(VmScheduling&&) = delete;
    VmScheduling& operator=(VmScheduling&&) = delete;
    ~VmScheduling() = default;

    /// Takes into the answer what it says of the node at that place in Objects::nodes. The answer
    /// has judged labels and cordon already.
    void judge(std::size_t node, migration::Comparison& answer) const;

    /// It may go to nodes that are cordoned.
    [[nodiscard]] bool tolerates_cordons() const;
    /// What it asks for is known, and what nodes have.
    [[nodiscard]] bool knows_resources() const;

    /// What was not looked at, for it was not told; one sentence each.
    [[nodiscard]] std::vector<std::string> notes() const;

private:
    [[nodiscard]] bool is_told(const migration::Reason& reason, bool labels_refuse,
                               const migration::scheduling::Node& node) const;
    [[nodiscard]] bool is_tolerated_perhaps(const migration::scheduling::Node& node) const;
    void add_doubts(const migration::scheduling::Node& node, migration::Comparison& answer) const;

    const Objects& objects_;
    migration::scheduling::Cluster cluster_;
    RenderedTarget target_;
    migration::scheduling::Filters filters_;
    migration::scheduling::PodFilters ready_;
};

}  // namespace scout::cluster
