// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pressure/kernel_texts.h"
#include "pressure/node_sample.h"

/// What single pods use, by the cgroups that the kubelet makes for them.
namespace scout::pressure {

enum class CgroupDriver : std::uint8_t { systemd, cgroupfs };

/// Pods' quality-of-service classes, in the order in which a launcher is likely to be of them: it
/// requests its guest's memory and has no limit, unless its VM asks for dedicated CPUs.
enum class QosClass : std::uint8_t { burstable, guaranteed, best_effort };
[[nodiscard]] std::string_view to_string(QosClass qos) noexcept;

struct PodUsage {
    QosClass qos{};
    std::uint64_t working_set = 0;       ///< bytes
    std::uint64_t memory = 0;            ///< bytes, with all that could be dropped
    std::optional<std::uint64_t> limit;  ///< of memory, in bytes; none: none
    std::optional<std::uint64_t> swap;   ///< bytes; none: not counted
    std::optional<std::uint64_t> tasks;  ///< none: not counted
    std::optional<Stall> memory_stall;   ///< v2 alone
    std::optional<Stall> io_stall;

    /// What the pod requests of memory, where its class tells: a guaranteed one its limit, one of
    /// best effort nothing. That of a burstable one only the API server knows.
    [[nodiscard]] std::optional<std::uint64_t> memory_request() const noexcept;
};

/// The folder of the cgroup of all pods, as pod_cgroup() says of one.
[[nodiscard]] std::filesystem::path pods_cgroup(std::string_view root, CgroupDriver driver);

/// The folder of a pod's cgroup below that of its controller (Kubernetes' node documentation,
/// "cgroup drivers"). `root` is the kubelet's cgroupRoot, in its form "/a/b"; "/" or empty without.
[[nodiscard]] std::filesystem::path pod_cgroup(std::string_view root, CgroupDriver driver,
                                               QosClass qos, std::string_view pod_uid);

/// The cgroups of pods on one node. Any thread; blocking.
class PodCgroups {
public:
    /// `cgroups` as in NodeRoots; `root` as for pod_cgroup().
    PodCgroups(std::filesystem::path cgroups, std::string root);

    /// Each driver and class is tried. Errors: not_found (it has none: it is gone, or the kubelet
    /// makes none, cgroupsPerQOS: false); invalid (no UID, a file of another form); unavailable.
    [[nodiscard]] Result<PodUsage> read(std::string_view pod_uid) const;

private:
    [[nodiscard]] Result<PodUsage> read_v2(const std::filesystem::path& place, QosClass qos) const;
    [[nodiscard]] Result<PodUsage> read_v1(const std::filesystem::path& place, QosClass qos) const;

    std::filesystem::path cgroups_;
    std::string root_;
};

}  // namespace scout::pressure
