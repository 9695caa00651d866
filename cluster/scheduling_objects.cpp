// SPDX-License-Identifier: Apache-2.0
#include "cluster/scheduling_objects.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cluster/node_state.h"
#include "cluster/read_scheduling.h"
#include "kube/objects/read_meta.h"

namespace scout::cluster {

namespace scheduling = migration::scheduling;
using kube::Field;
using kube::JsonObject;
using kube::JsonValue;
using kube::Nested;

namespace {

/// One of spec.drivers.
struct Driver {
    std::string name;
    std::optional<std::int64_t> most;
};
Status read_json(JsonValue value, Driver& target) {
    return read_members(value, Field{"name", target.name},
                        Nested{"allocatable", Field{"count", target.most}});
}

/// A volume has a member of the name of its kind.
struct VolumeSpec {
    scheduling::Volume& volume;
    std::vector<std::string>& members;
};
Status read_json(JsonValue value, VolumeSpec& target) {
    return read_map(value, [&target](std::string_view key, JsonValue item) -> Status {
        auto& volume = target.volume;
        target.members.emplace_back(key);
        if (key == "csi") {
            return read_members(item, Field{"driver", volume.driver},
                                Field{"volumeHandle", volume.handle});
        }
        if (key == "nodeAffinity") {
            NodeTerms terms{volume.node_terms};
            return read_members(item, Field{"required", terms});
        }
        return {};
    });
}

/// Kinds of volumes that CSI migration translates.
constexpr std::array<std::string_view, 7> translated_kinds{
    "gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "azureFile", "cinder",
    "vsphereVolume",     "portworxVolume"};

bool is_translated(const std::vector<std::string>& members) {
    return std::any_of(members.begin(), members.end(), [](const std::string& member) {
        return std::find(translated_kinds.begin(), translated_kinds.end(), member) !=
               translated_kinds.end();
    });
}

}  // namespace

Result<NodeRoom> decode_node_room(JsonObject& object) {
    NodeRoom room;
    scheduling::Resources allocatable;
    Amounts amounts{allocatable};
    auto status = object.read(metadata(room.meta), Nested{"status", Field{"allocatable", amounts}});
    if (!allocatable.empty()) {
        room.allocatable = std::move(allocatable);
    }
    return kube::decoded(std::move(room), std::move(status));
}

Result<CsiNode> decode_csi_node(JsonObject& object) {
    CsiNode node;
    std::vector<Driver> drivers;
    auto status = object.read(metadata(node.meta), Nested{"spec", Field{"drivers", drivers}});
    for (const auto& driver : drivers) {
        if (driver.most) {
            node.limits[driver.name] = *driver.most;
        }
    }
    return kube::decoded(std::move(node), std::move(status));
}

/// The scheduler takes a claim for bound when the annotation says that binding has been completed.
Result<VolumeClaim> decode_volume_claim(JsonObject& object) {
    VolumeClaim out;
    auto& claim = out.claim;
    std::vector<std::string> modes;
    std::optional<WallTime> deletion;
    std::optional<std::string> completed;
    std::string phase;
    auto status = object.read(
        metadata(out.meta, Field{"deletionTimestamp", deletion},
                 Nested{"annotations", Field{"pv.kubernetes.io/bind-completed", completed}}),
        Nested{"spec", Field{"volumeName", claim.volume}, Field{"accessModes", modes},
               Field{"storageClassName", out.storage_class}},
        Nested{"status", Field{"phase", phase}});
    claim.bound = !claim.volume.empty() && completed.has_value();
    claim.lost = phase == "Lost";
    claim.deleting = deletion.has_value();
    const auto has = [&modes](const char* mode) {
        return std::find(modes.begin(), modes.end(), mode) != modes.end();
    };
    claim.one_pod = has("ReadWriteOncePod");
    claim.shared = has("ReadWriteMany");
    return kube::decoded(std::move(out), std::move(status));
}

Result<StorageClass> decode_storage_class(JsonObject& object) {
    StorageClass out;
    auto status = object.read(metadata(out.meta), Field{"provisioner", out.provisioner});
    return kube::decoded(std::move(out), std::move(status));
}

Result<VolumeAttachment> decode_volume_attachment(JsonObject& object) {
    VolumeAttachment out;
    auto status = object.read(metadata(out.meta),
                              Nested{"spec", Field{"nodeName", out.node},
                                     Nested{"source", Field{"persistentVolumeName", out.volume}}});
    return kube::decoded(std::move(out), std::move(status));
}

Result<PersistentVolume> decode_persistent_volume(JsonObject& object) {
    PersistentVolume out;
    auto& volume = out.volume;
    PlainLabels labels{volume.labels};
    std::vector<std::string> members;
    VolumeSpec spec{volume, members};
    auto status = object.read(metadata(out.meta, Field{"labels", labels}), Field{"spec", spec});
    volume.translated = is_translated(members);
    return kube::decoded(std::move(out), std::move(status));
}

namespace {

/// By "NAMESPACE/NAME"; none if nothing was told.
template <class Value, class Objects, class Key, class Take>
std::optional<std::map<std::string, Value, std::less<>>> map_of(const Objects& objects, Key key,
                                                                Take take) {
    if (objects.empty()) {
        return std::nullopt;
    }
    std::map<std::string, Value, std::less<>> out;
    for (const auto& object : objects) {
        out.emplace(key(object.meta), take(object));
    }
    return out;
}

const auto by_name = [](const kube::ObjectMeta& meta) { return meta.name; };
const auto by_space = [](const kube::ObjectMeta& meta) {
    return scheduling::claim_key(meta.space.view(), meta.name);
};

/// Objects by their names. Refers to them.
template <class Object>
std::unordered_map<std::string_view, const Object*> index(const std::vector<Object>& objects) {
    std::unordered_map<std::string_view, const Object*> out;
    for (const auto& object : objects) {
        out.emplace(object.meta.name, &object);
    }
    return out;
}

scheduling::Node node_of(const kube::Node& node) {
    scheduling::Node out;
    out.name = node.meta.name;
    out.labels = plain_labels(node.labels);
    out.unschedulable = node.unschedulable;
    for (const auto& taint : node.taints) {
        out.taints.push_back({taint.key.str(), taint.value.str(), taint.effect.str()});
    }
    return out;
}

}  // namespace

scheduling::Cluster scheduling_cluster(const SchedulingObjects& objects,
                                       const std::vector<kube::Node>& nodes,
                                       const std::vector<kube::LabelledObject>& namespaces) {
    scheduling::Cluster cluster;
    const auto rooms = index(objects.rooms);
    const auto csi_nodes = index(objects.csi_nodes);
    std::unordered_map<std::string_view, std::vector<std::string>> attached;
    for (const auto& each : objects.attachments) {
        attached[each.node].push_back(each.volume);
    }
    for (const auto& node : nodes) {
        auto& one = cluster.nodes.emplace_back(node_of(node));
        if (const auto found = rooms.find(node.meta.name); found != rooms.end()) {
            one.allocatable = found->second->allocatable;
        }
        if (const auto found = csi_nodes.find(node.meta.name); found != csi_nodes.end()) {
            one.volume_limits = found->second->limits;
        }
        if (const auto found = attached.find(node.meta.name); found != attached.end()) {
            one.attached = found->second;
        }
    }
    for (const auto& pod : objects.pods) {
        if (!pod.final) {
            cluster.pods.push_back(pod.pod);
        }
    }
    cluster.spaces = map_of<migration::Labels>(
        namespaces, by_name, [](const auto& each) { return plain_labels(each.labels); });
    const auto classes = index(objects.classes);
    cluster.claims =
        map_of<scheduling::Claim>(objects.claims, by_space, [&classes](const VolumeClaim& each) {
            auto claim = each.claim;
            if (const auto found = classes.find(each.storage_class); found != classes.end()) {
                claim.provisioner = found->second->provisioner;
            }
            return claim;
        });
    cluster.volumes = map_of<scheduling::Volume>(objects.volumes, by_name,
                                                 [](const auto& each) { return each.volume; });
    return cluster;
}

}  // namespace scout::cluster
