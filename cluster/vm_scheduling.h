// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cluster/objects.h"
#include "migration/comparison.h"
#include "migration/scheduling/filters.h"
#include "migration/target_pod.h"

namespace scout::cluster {

struct ScheduledPod;

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

    /// What it asks for is known, and what nodes have.
    [[nodiscard]] bool knows_resources() const;

    /// What was not looked at, for it was not told; one sentence each.
    [[nodiscard]] std::vector<std::string> notes() const;

private:
    [[nodiscard]] migration::scheduling::Pod target(const kube::LauncherPod* launcher,
                                                    const migration::TargetPod& rendered);
    void take_launcher(const ScheduledPod& launcher, migration::scheduling::Pod& pod);

    const Objects& objects_;
    const kube::Vmi& vmi_;
    bool amounts_known_ = false;
    std::optional<std::vector<migration::NodeSelectorTerm>> own_terms_;  ///< the VMI's
    migration::scheduling::Cluster cluster_;
    migration::scheduling::Pod pod_;
    migration::scheduling::Filters filters_;
    migration::scheduling::PodFilters ready_;
};

}  // namespace scout::cluster
