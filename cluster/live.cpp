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
          profiles(transport, clock, kube::resources::cpu_profiles(), &decode_cpu_profile) {}

    /// Visit: (Kind&) for each of them.
    template <class Visit>
    void each(Visit visit) {
        visit(nodes);
        visit(kubevirts);
        visit(vmis);
        visit(migrations);
        visit(launchers);
        visit(profiles);
    }

    Kind<kube::Node> nodes;
    Kind<kube::KubeVirt> kubevirts;
    Kind<kube::Vmi> vmis;
    Kind<kube::Migration> migrations;
    Kind<kube::LauncherPod> launchers;
    Kind<CpuProfile> profiles;
};

}  // namespace

Result<Dump> read_cluster(const kube::ClusterAccess& access, const Clock& clock,
                          std::chrono::milliseconds limit, const LiveProgress& progress) {
    Dump dump;
    const auto take = [&dump](const Kinds& kinds) {
        auto& left_out = dump.left_out;
        dump.objects = {.nodes = kinds.nodes.take(left_out),
                        .kubevirts = kinds.kubevirts.take(left_out),
                        .vmis = kinds.vmis.take(left_out),
                        .migrations = kinds.migrations.take(left_out),
                        .launchers = kinds.launchers.take(left_out),
                        .profiles = kinds.profiles.take(left_out)};
    };
    if (auto known = read_kinds<Kinds>(access, clock, limit, progress, take); !known) {
        return fail(std::move(known.error()));
    }
    dump.moment = clock.wall();
    return dump;
}

}  // namespace scout::cluster
