// SPDX-License-Identifier: Apache-2.0
#include "cluster/records.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "cluster/dump_reader.h"
#include "cluster/dump_walk.h"
#include "kube/json.h"
#include "kube/objects/read_meta.h"

namespace scout::cluster {
namespace {

/// The latest of the times that it is shown.
class Moment {
public:
    void see(const std::optional<WallTime>& time) {
        latest_ = std::max(latest_, time.value_or(WallTime{}));
    }
    void see(const std::vector<kube::Condition>& conditions) {
        for (const auto& condition : conditions) {
            see(condition.since);
        }
    }
    void see(const std::vector<kube::PhaseTime>& phases) {
        for (const auto& phase : phases) {
            see(phase.at);
        }
    }
    [[nodiscard]] WallTime latest() const noexcept { return latest_; }

private:
    WallTime latest_;
};

class RecordReader {
public:
    explicit RecordReader(const DumpLimits& limits)
        : walk_(limits, [this](kube::JsonObject& object, std::string_view group,
                               std::string_view kind) { return decode(object, group, kind); }) {}

    [[nodiscard]] Status read(const std::vector<std::filesystem::path>& paths,
                              const DumpProgress& progress) {
        return walk_.read(paths, progress);
    }
    [[nodiscard]] RecordDump take();

private:
    [[nodiscard]] Result<bool> decode(kube::JsonObject& object, std::string_view group,
                                      std::string_view kind);
    [[nodiscard]] Result<bool> decode_of_kubevirt(kube::JsonObject& object, std::string_view kind);
    [[nodiscard]] Result<bool> decode_pod(kube::JsonObject& object);

    DumpWalk walk_;
    KnownObjects<kube::NodeRecord> nodes_;
    KnownObjects<kube::KubeVirt> kubevirts_;
    KnownObjects<VmRecord> vms_;
    KnownObjects<kube::VmiRecord> vmis_;
    KnownObjects<kube::MoveRecord> moves_;
    KnownObjects<kube::PodRecord> launchers_;
    KnownObjects<kube::PodRecord> handlers_;
    KnownObjects<kube::SeenEvent> events_;
};

Result<bool> RecordReader::decode(kube::JsonObject& object, std::string_view group,
                                  std::string_view kind) {
    if (group.empty() && kind == "Node") {
        return nodes_.put(walk_, kube::decode_node_record(object));
    }
    if (group.empty() && kind == "Pod") {
        return decode_pod(object);
    }
    if (kind == "Event" && (group.empty() || group == "events.k8s.io")) {
        auto event = kube::decode_seen_event(object);
        if (event && event->kind.empty()) {
            return false;
        }
        return events_.put(walk_, std::move(event));
    }
    if (group.empty() || group == kubevirt_group) {
        return decode_of_kubevirt(object, kind);
    }
    return false;
}

Result<bool> RecordReader::decode_of_kubevirt(kube::JsonObject& object, std::string_view kind) {
    if (kind == "VirtualMachine") {
        return vms_.put(walk_, decode_vm_record(object));
    }
    if (kind == "VirtualMachineInstance") {
        return vmis_.put(walk_, kube::decode_vmi_record(object));
    }
    if (kind == "VirtualMachineInstanceMigration") {
        return moves_.put(walk_, kube::decode_move_record(object));
    }
    if (kind == "KubeVirt") {
        return kubevirts_.put(walk_, kube::decode_kubevirt(object));
    }
    return false;
}

Result<bool> RecordReader::decode_pod(kube::JsonObject& object) {
    auto pod = kube::decode_pod_record(object);
    if (pod && pod->role == "virt-handler") {
        return handlers_.put(walk_, std::move(pod));
    }
    if (pod && pod->vmi_uid.empty()) {
        return false;  // no launcher
    }
    return launchers_.put(walk_, std::move(pod));
}

void see_times(Moment& moment, const Records& records) {
    for (const auto& node : records.nodes) {
        moment.see(node.heartbeat);
        moment.see(node.conditions);
        for (const auto& taint : node.taints) {
            moment.see(taint.added);
        }
    }
    for (const auto& vmi : records.vmis) {
        moment.see(vmi.creation);
        moment.see(vmi.conditions);
        moment.see(vmi.phases);
    }
    for (const auto& move : records.moves) {
        moment.see(move.creation);
        moment.see(move.phases);
    }
    for (const auto& pod : records.launchers) {
        moment.see(pod.creation);
        moment.see(pod.conditions);
        for (const auto& container : pod.containers) {
            moment.see(container.finished);
        }
    }
    for (const auto& event : records.events) {
        moment.see(event.at);
    }
}

RecordDump RecordReader::take() {
    RecordDump dump;
    dump.records = {.nodes = nodes_.take(),
                    .kubevirts = kubevirts_.take(),
                    .vms = vms_.take(),
                    .vmis = vmis_.take(),
                    .moves = moves_.take(),
                    .launchers = launchers_.take(),
                    .handlers = handlers_.take(),
                    .events = events_.take()};
    dump.left_out = walk_.take_left_out();
    dump.files = walk_.files();
    Moment moment;
    see_times(moment, dump.records);
    dump.moment = moment.latest();
    return dump;
}

}  // namespace

Result<VmRecord> decode_vm_record(kube::JsonObject& object) {
    VmRecord vm;
    auto status = object.read(metadata(vm.meta, kube::Field{"creationTimestamp", vm.creation}));
    return kube::decoded(std::move(vm), std::move(status));
}

Result<RecordDump> read_records(const std::vector<std::filesystem::path>& paths,
                                const DumpProgress& progress, const DumpLimits& limits) {
    RecordReader reader(limits);
    if (auto read = reader.read(paths, progress); !read) {
        return fail(std::move(read.error()));
    }
    return reader.take();
}

}  // namespace scout::cluster
