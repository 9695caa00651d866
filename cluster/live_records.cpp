// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cluster/live_kinds.h"
#include "cluster/records.h"

namespace scout::cluster {
namespace {

constexpr const char* pods_of_kubevirt = "kubevirt.io in (virt-handler,virt-launcher)";

const kube::Resource& virtual_machines() {
    static const kube::Resource resource{.group = "kubevirt.io",
                                         .version = "v1",
                                         .plural = "virtualmachines",
                                         .kind = "VirtualMachine"};
    return resource;
}

/// What Records are of.
struct RecordKinds {
    RecordKinds(kube::Transport& transport, const Clock& clock)
        : nodes(transport, clock, kube::resources::nodes(), &kube::decode_node_record),
          kubevirts(transport, clock, kube::resources::kubevirts(), &kube::decode_kubevirt),
          vmis(transport, clock, kube::resources::virtual_machine_instances(),
               &kube::decode_vmi_record),
          moves(transport, clock, kube::resources::migrations(), &kube::decode_move_record),
          pods(transport, clock, kube::resources::pods(), &kube::decode_pod_record,
               pods_of_kubevirt),
          events(transport, clock, kube::resources::events(), &kube::decode_seen_event) {}

    /// Visit: (Kind&) for each of them.
    template <class Visit>
    void each(Visit visit) {
        visit(nodes);
        visit(kubevirts);
        visit(vmis);
        visit(moves);
        visit(pods);
        visit(events);
    }

    Kind<kube::NodeRecord> nodes;
    Kind<kube::KubeVirt> kubevirts;
    Kind<kube::VmiRecord> vmis;
    Kind<kube::MoveRecord> moves;
    Kind<kube::PodRecord> pods;
    Kind<kube::SeenEvent> events;
};

/// With what a VM's story needs besides.
struct StoryKinds : RecordKinds {
    StoryKinds(kube::Transport& transport, const Clock& clock)
        : RecordKinds(transport, clock),
          vms(transport, clock, virtual_machines(), &decode_vm_record) {}

    template <class Visit>
    void each(Visit visit) {
        RecordKinds::each(visit);
        visit(vms);
    }

    Kind<VmRecord> vms;
};

void take_records(const RecordKinds& kinds, RecordDump& dump) {
    auto& records = dump.records;
    records.nodes = kinds.nodes.take(dump.left_out);
    records.kubevirts = kinds.kubevirts.take(dump.left_out);
    records.vmis = kinds.vmis.take(dump.left_out);
    records.moves = kinds.moves.take(dump.left_out);
    for (auto& pod : kinds.pods.take(dump.left_out)) {
        (pod.role == "virt-handler" ? records.handlers : records.launchers)
            .push_back(std::move(pod));
    }
    records.events = kinds.events.take(dump.left_out);
    std::erase_if(records.events, [](const auto& event) { return event.kind.empty(); });
}

}  // namespace

Result<RecordDump> read_live_records(const kube::ClusterAccess& access, const Clock& clock,
                                     std::chrono::milliseconds limit,
                                     const LiveProgress& progress) {
    RecordDump dump;
    const auto take = [&dump](const RecordKinds& kinds) { take_records(kinds, dump); };
    if (auto known = read_kinds<RecordKinds>(access, clock, limit, progress, take); !known) {
        return fail(std::move(known.error()));
    }
    dump.moment = clock.wall();
    return dump;
}

Result<RecordDump> read_live_stories(const kube::ClusterAccess& access, const Clock& clock,
                                     std::chrono::milliseconds limit,
                                     const LiveProgress& progress) {
    RecordDump dump;
    const auto take = [&dump](const StoryKinds& kinds) {
        take_records(kinds, dump);
        dump.records.vms = kinds.vms.take(dump.left_out);
    };
    if (auto known = read_kinds<StoryKinds>(access, clock, limit, progress, take); !known) {
        return fail(std::move(known.error()));
    }
    dump.moment = clock.wall();
    return dump;
}

}  // namespace scout::cluster
