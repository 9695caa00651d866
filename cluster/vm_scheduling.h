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

/// The pod is the target of a migration of that VMI that is under way. One that a migration left
/// behind is none: it takes its place for as long as it is there.
[[nodiscard]] bool is_target_of(const migration::scheduling::Pod& pod, const kube::Vmi& vmi,
                                const Objects& objects);

/// The objects of one moment as the scheduler sees them, made ready for many VMIs. Refers to them;
/// they must have their `scheduling`.
class SchedulingView {
public:
    explicit SchedulingView(const Objects& objects);
    explicit SchedulingView(const Objects&& objects) = delete;
    /// Without the targets of migrations of that VMI that are under way: where it could go is asked
    /// as if they were not there.
    SchedulingView(const Objects& objects, const kube::Vmi& vmi);
    SchedulingView(const Objects&& objects, const kube::Vmi& vmi) = delete;
    SchedulingView(const SchedulingView&) = delete;
    SchedulingView& operator=(const SchedulingView&) = delete;
    SchedulingView(SchedulingView&&) = delete;
    SchedulingView& operator=(SchedulingView&&) = delete;
    ~SchedulingView() = default;

    [[nodiscard]] const Objects& objects() const noexcept { return objects_; }
    [[nodiscard]] const migration::scheduling::Cluster& cluster() const noexcept {
        return cluster_;
    }
    [[nodiscard]] const migration::scheduling::Filters& filters() const noexcept {
        return filters_;
    }

    /// Whether it has the target of a migration of that VMI.
    [[nodiscard]] bool has_target_of(const kube::Vmi& vmi) const;

private:
    const Objects& objects_;
    migration::scheduling::Cluster cluster_;
    migration::scheduling::Filters filters_;
};

/// What kube-scheduler would say of the target pod of a VMI's next migration, beyond the labels
/// that KubeVirt asks for (those are migration/target_pod.h). Refers to the view.
class VmScheduling {
public:
    /// `launcher`: runs it now; null if it is not known.
    VmScheduling(const SchedulingView& view, const kube::Vmi& vmi,
                 const kube::LauncherPod* launcher, const migration::TargetPod& target);
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

    const SchedulingView& view_;
    RenderedTarget target_;
    migration::scheduling::PodFilters ready_;
};

}  // namespace scout::cluster
