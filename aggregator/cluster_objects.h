// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task_scope.h"
#include "cluster/cpu_profile.h"
#include "kube/informer.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/labelled.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/node.h"
#include "kube/objects/plugin.h"
#include "kube/objects/scout_config.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

/// One kind of objects of the cluster.
struct FollowedKind {
    std::string plural;
    std::string trouble;  ///< why it is not being followed; empty: it is
};

/// The objects of the cluster that this process follows, one informer for each kind, whoever reads
/// it. Loop thread; transport and clock must outlive it.
struct ClusterObjects {
    /// `settings`: with a seed of its own for each kind.
    ClusterObjects(kube::Transport& transport, const Clock& clock,
                   const std::function<kube::ReflectorSettings()>& settings);

    void follow_namespaces() { namespaces_ = true; }
    /// VMIs, their migrations and launchers too, with what else decides about a migration, and the
    /// hook of ours.
    void follow_vms() { namespaces_ = vms_ = true; }
    [[nodiscard]] bool follows_vms() const noexcept { return vms_; }

    /// Runs what is followed.
    void start(TaskScope& scope);
    [[nodiscard]] std::vector<FollowedKind> kinds() const;

    kube::Informer<kube::Node> nodes;
    kube::Informer<kube::KubeVirt> kubevirts;
    kube::Informer<kube::ScoutConfig> configs;
    kube::Informer<cluster::CpuProfile> cpu_profiles;

    kube::Informer<kube::Vmi> vmis;
    kube::Informer<kube::Migration> migrations;
    kube::Informer<kube::LauncherPod> launchers;

    kube::Informer<kube::MigrationPolicy> policies;
    kube::Informer<kube::LabelledObject> namespaces;
    kube::Informer<kube::Plugin> plugins;  ///< ours alone

private:
    bool vms_ = false;
    bool namespaces_ = false;
};

}  // namespace scout::aggregator
