// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "cluster/live.h"
#include "cluster/live_kinds.h"
#include "cluster/twofold.h"

namespace scout::cluster {
namespace {

kube::Resource of_storage(const char* group, const char* plural, const char* kind,
                          bool namespaced) {
    return {
        .group = group, .version = "v1", .plural = plural, .kind = kind, .namespaced = namespaced};
}

struct PlacingKinds {
    PlacingKinds(kube::Transport& transport, const Clock& clock)
        : nodes(transport, clock, kube::resources::nodes(), &decode_node_and_room),
          kubevirts(transport, clock, kube::resources::kubevirts(), &kube::decode_kubevirt),
          vmis(transport, clock, kube::resources::virtual_machine_instances(),
               &decode_vmi_and_wishes),
          migrations(transport, clock, kube::resources::migrations(), &kube::decode_migration),
          pods(transport, clock, kube::resources::pods(), &decode_launcher_and_pod),
          profiles(transport, clock, kube::resources::cpu_profiles(), &decode_cpu_profile),
          configs(transport, clock, kube::resources::scout_configs(), &kube::decode_scout_config),
          policies(transport, clock, kube::resources::migration_policies(),
                   &kube::decode_migration_policy),
          namespaces(transport, clock, kube::resources::namespaces(), &kube::decode_labelled),
          claims(transport, clock,
                 of_storage("", "persistentvolumeclaims", "PersistentVolumeClaim", true),
                 &decode_volume_claim),
          volumes(transport, clock, of_storage("", "persistentvolumes", "PersistentVolume", false),
                  &decode_persistent_volume),
          csi_nodes(transport, clock, of_storage("storage.k8s.io", "csinodes", "CSINode", false),
                    &decode_csi_node),
          classes(transport, clock,
                  of_storage("storage.k8s.io", "storageclasses", "StorageClass", false),
                  &decode_storage_class),
          attachments(transport, clock,
                      of_storage("storage.k8s.io", "volumeattachments", "VolumeAttachment", false),
                      &decode_volume_attachment) {}

    template <class Visit>
    void each(Visit visit) {
        visit(nodes);
        visit(kubevirts);
        visit(vmis);
        visit(migrations);
        visit(pods);
        visit(profiles);
        visit(configs);
        visit(policies);
        visit(namespaces);
        visit(claims);
        visit(volumes);
        visit(csi_nodes);
        visit(classes);
        visit(attachments);
    }

    [[nodiscard]] Objects take(std::vector<LeftOut>& left_out) const {
        Objects objects{.nodes = {},
                        .kubevirts = kubevirts.take(left_out),
                        .vmis = {},
                        .migrations = migrations.take(left_out),
                        .launchers = {},
                        .profiles = profiles.take(left_out),
                        .configs = configs.take(left_out)};
        auto scheduling = std::make_shared<SchedulingObjects>();
        TakeApart apart(objects, *scheduling, left_out);
        apart.take(nodes.take(left_out));
        apart.take(vmis.take(left_out));
        apart.take(pods.take(left_out));
        objects.policies = policies.take(left_out);
        objects.namespaces = namespaces.take(left_out);
        scheduling->claims = claims.take(left_out);
        scheduling->volumes = volumes.take(left_out);
        scheduling->csi_nodes = csi_nodes.take(left_out);
        scheduling->classes = classes.take(left_out);
        scheduling->attachments = attachments.take(left_out);
        objects.scheduling = std::move(scheduling);
        return objects;
    }

    Kind<NodeAndRoom> nodes;
    Kind<kube::KubeVirt> kubevirts;
    Kind<VmiAndWishes> vmis;
    Kind<kube::Migration> migrations;
    Kind<LauncherAndPod> pods;
    Kind<CpuProfile> profiles;
    Kind<kube::ScoutConfig> configs;
    Kind<kube::MigrationPolicy> policies;
    Kind<kube::LabelledObject> namespaces;
    Kind<VolumeClaim> claims;
    Kind<PersistentVolume> volumes;
    Kind<CsiNode> csi_nodes;
    Kind<StorageClass> classes;
    Kind<VolumeAttachment> attachments;
};

}  // namespace

Result<Dump> read_placing_cluster(const kube::ClusterAccess& access, const Clock& clock,
                                  std::chrono::milliseconds limit, const LiveProgress& progress) {
    return read_objects<PlacingKinds>(access, clock, limit, progress);
}

}  // namespace scout::cluster
