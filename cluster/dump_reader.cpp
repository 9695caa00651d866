// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump_reader.h"

#include <algorithm>
#include <optional>

#include "cluster/vm_placement.h"
#include "kube/json.h"
#include "kube/resource.h"

namespace scout::cluster {
namespace {

/// What only a dump wants of a node's conditions: kubelet touches it every few minutes.
struct Beat {
    std::optional<WallTime> at;
};

Status read_json(kube::JsonValue value, Beat& target) {
    return kube::read_members(value, kube::Field{"lastHeartbeatTime", target.at});
}

}  // namespace

DumpReader::DumpReader(const DumpLimits& limits)
    : walk_(limits, [this](kube::JsonObject& object, std::string_view group,
                           std::string_view kind) { return decode(object, group, kind); }) {}

Dump DumpReader::take() {
    auto kubevirts = kubevirts_.take();
    tell_all_but_one(kubevirts);
    auto scheduling = std::make_shared<SchedulingObjects>();
    scheduling->csi_nodes = csi_nodes_.take();
    scheduling->claims = claims_.take();
    scheduling->volumes = volumes_.take();
    scheduling->classes = classes_.take();
    scheduling->attachments = attachments_.take();
    Objects objects{.nodes = {},
                    .kubevirts = std::move(kubevirts),
                    .vmis = {},
                    .migrations = migrations_.take(),
                    .launchers = {},
                    .profiles = profiles_.take(),
                    .configs = configs_.take(),
                    .policies = policies_.take(),
                    .namespaces = namespaces_.take(),
                    .plugins = plugins_.take()};
    std::vector<LeftOut> left_out;
    TakeApart apart(objects, *scheduling, left_out);
    apart.take(nodes_.take());
    apart.take(vmis_.take());
    apart.take(pods_.take());
    for (auto& each : left_out) {
        walk_.leave_out(each.place, std::move(each.reason));
    }
    objects.scheduling = std::move(scheduling);
    return {.objects = std::move(objects),
            .left_out = walk_.take_left_out(),
            .files = walk_.files(),
            .moment = moment_,
            .other_kinds = walk_.other_kinds()};
}

/// A cluster has one KubeVirt; which of several counts must not stay unsaid.
void DumpReader::tell_all_but_one(const std::vector<kube::KubeVirt>& kubevirts) {
    const auto* counts = kubevirt_in_force(kubevirts);
    for (const auto& kubevirt : kubevirts) {
        if (counts != nullptr && !kubevirt.phase.empty() && &kubevirt != counts) {
            walk_.leave_out(full_name(kubevirt.meta),
                            "a second KubeVirt object with a phase, and a "
                            "cluster has one; " +
                                full_name(counts->meta) + " counts");
        }
    }
}

Result<bool> DumpReader::decode(kube::JsonObject& object, std::string_view group,
                                std::string_view kind) {
    if (kind == "Node" && group.empty()) {
        return decode_node(object);
    }
    if (kind == "Pod" && group.empty()) {
        return pods_.put(walk_, decode_launcher_and_pod(object));
    }
    // Entries of typed lists do not say their group: the kinds are ours and KubeVirt's alone.
    if (kind == "CPUProfile" && (group == our_group || group.empty())) {
        return profiles_.put(walk_, decode_cpu_profile(object));
    }
    if (group == kubevirt_group || group.empty()) {
        if (kind == "VirtualMachineInstance") {
            return vmis_.put(walk_, decode_vmi_and_wishes(object));
        }
        if (kind == "VirtualMachineInstanceMigration") {
            return migrations_.put(walk_, kube::decode_migration(object));
        }
        if (kind == "KubeVirt") {
            return kubevirts_.put(walk_, kube::decode_kubevirt(object));
        }
    }
    return decode_protecting(object, group, kind);
}

Result<bool> DumpReader::decode_protecting(kube::JsonObject& object, std::string_view group,
                                           std::string_view kind) {
    const auto is = [group, kind](const kube::Resource& resource) {
        return kind == resource.kind && (group == resource.group || group.empty());
    };
    if (is(kube::resources::namespaces())) {
        return namespaces_.put(walk_, kube::decode_labelled(object));
    }
    if (is(kube::resources::migration_policies())) {
        return policies_.put(walk_, kube::decode_migration_policy(object));
    }
    if (is(kube::resources::scout_configs())) {
        return configs_.put(walk_, kube::decode_scout_config(object));
    }
    // Others have plugins too.
    return is(kube::resources::plugins()) ? plugins_.put(walk_, kube::decode_plugin(object))
                                          : decode_storage(object, group, kind);
}

Result<bool> DumpReader::decode_storage(kube::JsonObject& object, std::string_view group,
                                        std::string_view kind) {
    if (kind == "PersistentVolumeClaim" && group.empty()) {
        return claims_.put(walk_, decode_volume_claim(object));
    }
    if (kind == "PersistentVolume" && group.empty()) {
        return volumes_.put(walk_, decode_persistent_volume(object));
    }
    if (kind == "StorageClass" && (group == "storage.k8s.io" || group.empty())) {
        return classes_.put(walk_, decode_storage_class(object));
    }
    if (kind == "VolumeAttachment" && (group == "storage.k8s.io" || group.empty())) {
        return attachments_.put(walk_, decode_volume_attachment(object));
    }
    if (kind == "CSINode" && (group == "storage.k8s.io" || group.empty())) {
        return csi_nodes_.put(walk_, decode_csi_node(object));
    }
    return false;
}

/// Heartbeats are of no use but here: in an informer they would make every node a changed one.
Result<bool> DumpReader::decode_node(kube::JsonObject& object) {
    auto node = decode_node_and_room(object);
    if (!node) {
        return fail(std::move(node.error()));
    }
    std::optional<WallTime> heartbeat;
    std::vector<Beat> beats;
    if (auto again = object.rewind(); !again) {
        return fail(std::move(again.error()));
    }
    // What is no time says nothing.
    static_cast<void>(object.read(
        kube::Nested{"metadata",
                     kube::Nested{"annotations", kube::Field{"kubevirt.io/heartbeat", heartbeat}}},
        kube::Nested{"status", kube::Field{"conditions", beats}}));
    const auto see = [this](const std::optional<WallTime>& time) {
        moment_ = std::max(moment_, time.value_or(WallTime{}));
    };
    see(heartbeat);
    for (const auto& beat : beats) {
        see(beat.at);
    }
    for (const auto& taint : node->main.taints) {
        see(taint.added);
    }
    for (const auto& condition : node->main.conditions) {
        see(condition.since);
    }
    return nodes_.put(walk_, std::move(node));
}

}  // namespace scout::cluster
