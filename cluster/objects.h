// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cpu_profile.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/labelled.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/node.h"
#include "kube/objects/plugin.h"
#include "kube/objects/scout_config.h"
#include "kube/objects/vmi.h"

namespace scout::cluster {

struct SchedulingObjects;

/// What is known of one cluster, wherever it came from: the informers of an aggregator, or a dump.
/// In the order of namespaces and names. What a source does not tell is absent, never assumed.
struct Objects {
    std::vector<kube::Node> nodes;
    std::vector<kube::KubeVirt> kubevirts;
    std::vector<kube::Vmi> vmis;
    std::vector<kube::Migration> migrations;
    std::vector<kube::LauncherPod> launchers;
    std::vector<CpuProfile> profiles;
    std::vector<kube::ScoutConfig> configs = {};
    // What decides about a VM's protection, for who asks about that.
    std::vector<kube::MigrationPolicy> policies = {};
    std::vector<kube::LabelledObject> namespaces = {};
    std::vector<kube::Plugin> plugins = {};
    /// What kube-scheduler goes by besides; null: nobody asked for it.
    std::shared_ptr<const SchedulingObjects> scheduling = nullptr;
};

/// The KubeVirt object that is in force: the one with a phase (dossier §10), or the only one, for
/// an export may have no status; null if there is none.
[[nodiscard]] const kube::KubeVirt* kubevirt_in_force(
    const std::vector<kube::KubeVirt>& kubevirts) noexcept;

/// The ScoutConfig that is obeyed; null if there is none.
[[nodiscard]] const kube::ScoutConfig* config_in_force(
    const std::vector<kube::ScoutConfig>& configs) noexcept;

/// The node of that name. Errors: not_found, with the name that is nearest.
[[nodiscard]] Result<const kube::Node*> find_node(const Objects& objects, std::string_view name);

}  // namespace scout::cluster
