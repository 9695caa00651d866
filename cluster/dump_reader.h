// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "cluster/dump.h"
#include "cluster/dump_walk.h"
#include "cluster/twofold.h"

namespace scout::cluster {

/// The groups of kinds that are asked about beside the core group.
inline constexpr std::string_view kubevirt_group = "kubevirt.io";
inline constexpr std::string_view our_group = "virt-scout.io";

/// Takes the objects of a dump. Blocking.
class DumpReader {
public:
    explicit DumpReader(const DumpLimits& limits);

    [[nodiscard]] Status read(const std::vector<std::filesystem::path>& paths,
                              const DumpProgress& progress) {
        return walk_.read(paths, progress);
    }
    [[nodiscard]] Dump take();

private:
    [[nodiscard]] Result<bool> decode(kube::JsonObject& object, std::string_view group,
                                      std::string_view kind);
    [[nodiscard]] Result<bool> decode_node(kube::JsonObject& object);
    [[nodiscard]] Result<bool> decode_storage(kube::JsonObject& object, std::string_view group,
                                              std::string_view kind);
    [[nodiscard]] Result<bool> decode_protecting(kube::JsonObject& object, std::string_view group,
                                                 std::string_view kind);
    void tell_all_but_one(const std::vector<kube::KubeVirt>& kubevirts);

    DumpWalk walk_;
    WallTime moment_;
    KnownObjects<NodeAndRoom> nodes_;
    KnownObjects<kube::KubeVirt> kubevirts_;
    KnownObjects<VmiAndWishes> vmis_;
    KnownObjects<kube::Migration> migrations_;
    KnownObjects<LauncherAndPod> pods_;
    KnownObjects<CpuProfile> profiles_;
    KnownObjects<kube::MigrationPolicy> policies_;
    KnownObjects<kube::LabelledObject> namespaces_;
    KnownObjects<kube::Plugin> plugins_;
    KnownObjects<kube::ScoutConfig> configs_;
    KnownObjects<CsiNode> csi_nodes_;
    KnownObjects<VolumeClaim> claims_;
    KnownObjects<PersistentVolume> volumes_;
    KnownObjects<StorageClass> classes_;
    KnownObjects<VolumeAttachment> attachments_;
};

}  // namespace scout::cluster
