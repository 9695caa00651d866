// SPDX-License-Identifier: Apache-2.0
#include "cluster/live.h"

#include "cluster/live_kinds.h"

namespace scout::cluster {
namespace {

/// What a dump is of.
struct Kinds {
    Kinds(kube::Transport& transport, const Clock& clock)
        : nodes(transport, clock, kube::resources::nodes(), &kube::decode_node),
          kubevirts(transport, clock, kube::resources::kubevirts(), &kube::decode_kubevirt),
          vmis(transport, clock, kube::resources::virtual_machine_instances(), &kube::decode_vmi),
          migrations(transport, clock, kube::resources::migrations(), &kube::decode_migration),
          launchers(transport, clock, kube::resources::pods(), &kube::decode_launcher_pod,
                    kube::launcher_selector),
          profiles(transport, clock, kube::resources::cpu_profiles(), &decode_cpu_profile),
          configs(transport, clock, kube::resources::scout_configs(), &kube::decode_scout_config) {}

    /// Visit: (Kind&) for each of them.
    template <class Visit>
    void each(Visit visit) {
        visit(nodes);
        visit(kubevirts);
        visit(vmis);
        visit(migrations);
        visit(launchers);
        visit(profiles);
        visit(configs);
    }

    [[nodiscard]] Objects take(std::vector<LeftOut>& left_out) const {
        return {.nodes = nodes.take(left_out),
                .kubevirts = kubevirts.take(left_out),
                .vmis = vmis.take(left_out),
                .migrations = migrations.take(left_out),
                .launchers = launchers.take(left_out),
                .profiles = profiles.take(left_out),
                .configs = configs.take(left_out)};
    }

    Kind<kube::Node> nodes;
    Kind<kube::KubeVirt> kubevirts;
    Kind<kube::Vmi> vmis;
    Kind<kube::Migration> migrations;
    Kind<kube::LauncherPod> launchers;
    Kind<CpuProfile> profiles;
    Kind<kube::ScoutConfig> configs;
};

/// With what protects VMs.
struct ProtectedKinds : Kinds {
    ProtectedKinds(kube::Transport& transport, const Clock& clock)
        : Kinds(transport, clock),
          policies(transport, clock, kube::resources::migration_policies(),
                   &kube::decode_migration_policy),
          namespaces(transport, clock, kube::resources::namespaces(), &kube::decode_labelled),
          plugins(transport, clock, kube::resources::plugins(), &kube::decode_plugin) {}

    template <class Visit>
    void each(Visit visit) {
        Kinds::each(visit);
        visit(policies);
        visit(namespaces);
        visit(plugins);
    }

    [[nodiscard]] Objects take(std::vector<LeftOut>& left_out) const {
        auto objects = Kinds::take(left_out);
        objects.policies = policies.take(left_out);
        objects.namespaces = namespaces.take(left_out);
        objects.plugins = plugins.take(left_out);
        return objects;
    }

    Kind<kube::MigrationPolicy> policies;
    Kind<kube::LabelledObject> namespaces;
    Kind<kube::Plugin> plugins;
};

}  // namespace

Result<Dump> read_cluster(const kube::ClusterAccess& access, const Clock& clock,
                          std::chrono::milliseconds limit, const LiveProgress& progress) {
    return read_objects<Kinds>(access, clock, limit, progress);
}

Result<Dump> read_protected_cluster(const kube::ClusterAccess& access, const Clock& clock,
                                    std::chrono::milliseconds limit, const LiveProgress& progress) {
    return read_objects<ProtectedKinds>(access, clock, limit, progress);
}

}  // namespace scout::cluster
