// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/labelled.h"
#include "kube/objects/meta.h"
#include "kube/objects/node.h"
#include "migration/scheduling/cluster.h"

namespace scout::kube {
class JsonObject;
}  // namespace scout::kube

/// What kube-scheduler goes by, read from the objects of a cluster. Errors of all: invalid, with
/// the path of what is wrong.
namespace scout::cluster {

/// A v1 Pod as the scheduler sees it.
struct ScheduledPod {
    kube::ObjectMeta meta;
    migration::scheduling::Pod pod;
    /// What a new pod that is made like it would ask for.
    migration::scheduling::Resources when_new;
    bool final = false;     ///< it has ended, and takes nothing any more
    bool launcher = false;  ///< of a VMI
};
[[nodiscard]] Result<ScheduledPod> decode_scheduled_pod(kube::JsonObject& object);

/// What a VMI's specification says of where its launchers may run; node selectors, which KubeVirt
/// renders (migration/target_pod.h), and amounts are not among it.
struct VmiWishes {
    kube::ObjectMeta meta;
    migration::scheduling::Pod pod;
    std::vector<std::string> moved_away;  ///< claims that its volumes leave by the next migration
};
[[nodiscard]] Result<VmiWishes> decode_vmi_wishes(kube::JsonObject& object);

/// What a v1 Node has for pods.
struct NodeRoom {
    kube::ObjectMeta meta;
    std::optional<migration::scheduling::Resources> allocatable;
};
[[nodiscard]] Result<NodeRoom> decode_node_room(kube::JsonObject& object);

/// A storage.k8s.io/v1 CSINode: most volumes at once, by driver.
struct CsiNode {
    kube::ObjectMeta meta;
    std::map<std::string, std::int64_t, std::less<>> limits;
};
[[nodiscard]] Result<CsiNode> decode_csi_node(kube::JsonObject& object);

struct VolumeClaim {
    kube::ObjectMeta meta;
    std::string storage_class;  ///< its name; empty: none
    migration::scheduling::Claim claim;
};
[[nodiscard]] Result<VolumeClaim> decode_volume_claim(kube::JsonObject& object);

struct PersistentVolume {
    kube::ObjectMeta meta;
    migration::scheduling::Volume volume;
};
[[nodiscard]] Result<PersistentVolume> decode_persistent_volume(kube::JsonObject& object);

/// A storage.k8s.io/v1 StorageClass.
struct StorageClass {
    kube::ObjectMeta meta;
    std::string provisioner;
};
[[nodiscard]] Result<StorageClass> decode_storage_class(kube::JsonObject& object);

/// A storage.k8s.io/v1 VolumeAttachment.
struct VolumeAttachment {
    kube::ObjectMeta meta;
    std::string node;
    std::string volume;  ///< of a PersistentVolume; empty: of another
};
[[nodiscard]] Result<VolumeAttachment> decode_volume_attachment(kube::JsonObject& object);

/// All of it, wherever it came from. An empty list: nothing of it was told.
struct SchedulingObjects {
    std::vector<ScheduledPod> pods;
    std::vector<VmiWishes> wishes;
    bool all_wishes = true;  ///< of every VMI that is known; else some could not be read
    std::vector<NodeRoom> rooms;
    std::vector<CsiNode> csi_nodes;
    std::vector<VolumeClaim> claims;
    std::vector<PersistentVolume> volumes;
    std::vector<StorageClass> classes;
    std::vector<VolumeAttachment> attachments;
};

/// The same as the scheduler's view. Its nodes are in the order of `nodes`.
[[nodiscard]] migration::scheduling::Cluster scheduling_cluster(
    const SchedulingObjects& objects, const std::vector<kube::Node>& nodes,
    const std::vector<kube::LabelledObject>& namespaces);

}  // namespace scout::cluster
