// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/dump.h"
#include "cluster/live.h"
#include "kube/access.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/records.h"

namespace scout::cluster {

/// A kubevirt.io/v1 VirtualMachine, of which only the age is asked.
struct VmRecord {
    kube::ObjectMeta meta;
    std::optional<WallTime> creation;

    bool operator==(const VmRecord&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<VmRecord> decode_vm_record(kube::JsonObject& object);

/// What is known of one cluster by who looks back: what became of VMs, what waits for what. In the
/// order of namespaces and names. What a source does not tell is absent, never assumed.
struct Records {
    std::vector<kube::NodeRecord> nodes;
    std::vector<kube::KubeVirt> kubevirts;
    std::vector<VmRecord> vms;  ///< for find_story()
    std::vector<kube::VmiRecord> vmis;
    std::vector<kube::MoveRecord> moves;
    std::vector<kube::PodRecord> launchers;
    std::vector<kube::PodRecord> handlers;  ///< virt-handler's pods
    std::vector<kube::SeenEvent> events;
};

struct RecordDump {
    Records records;
    std::vector<LeftOut> left_out;
    std::size_t files = 0;  ///< that were read
    /// Of a dump the latest moment that its objects speak of, else that of reading.
    WallTime moment;
};

/// As read_dump(), of the same files.
[[nodiscard]] Result<RecordDump> read_records(const std::vector<std::filesystem::path>& paths,
                                              const DumpProgress& progress = {},
                                              const DumpLimits& limits = {});

/// As read_cluster(): nodes, KubeVirt objects, VMIs, their migrations, pods of virt-launcher and
/// virt-handler, and Events.
[[nodiscard]] Result<RecordDump> read_live_records(const kube::ClusterAccess& access,
                                                   const Clock& clock,
                                                   std::chrono::milliseconds limit,
                                                   const LiveProgress& progress = {});

/// With VirtualMachines too, for find_story().
[[nodiscard]] Result<RecordDump> read_live_stories(const kube::ClusterAccess& access,
                                                   const Clock& clock,
                                                   std::chrono::milliseconds limit,
                                                   const LiveProgress& progress = {});

}  // namespace scout::cluster
