// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/meta.h"

namespace scout::kube {

class JsonObject;
struct PodRecord;

/// The pods that are launchers.
inline constexpr const char* launcher_selector = "kubevirt.io=virt-launcher";

/// Quantities as they stand in a specification; empty: none.
struct ContainerRequests {
    SharedText memory;
    SharedText storage;  ///< ephemeral-storage
    bool stays = false;  ///< of an init container: it runs on beside the others

    bool operator==(const ContainerRequests&) const = default;
};

/// Of containers that request something.
struct PodRequests {
    std::vector<ContainerRequests> containers;
    std::vector<ContainerRequests> init_containers;
    ContainerRequests overhead;

    bool operator==(const PodRequests&) const = default;
};

/// What we use of a virt-launcher pod (dossier §9.1).
struct LauncherPod {
    ObjectMeta meta;
    SharedText node;   ///< empty until it is scheduled
    SharedText phase;  ///< Pending, Running, Succeeded, Failed, Unknown
    /// The VMI: its name is the annotation kubevirt.io/domain, its namespace the pod's, its uid the
    /// label kubevirt.io/created-by.
    std::string vmi_name;
    std::string vmi_uid;
    /// The migration whose target it was made for. It stays after the migration.
    std::string migration_uid;
    Labels node_selector;
    std::int64_t priority = 0;
    PodRequests requests;
    std::optional<WallTime> deletion;  ///< when the kubelet's patience ends
    std::optional<std::chrono::seconds> deletion_grace;
    std::optional<std::chrono::seconds> grace;  ///< spec.terminationGracePeriodSeconds
    /// --grace-period-seconds of its command: its guest is killed then (dossier §3.2).
    std::optional<std::chrono::seconds> launcher_grace;
    std::optional<WallTime> ended;  ///< the last of its containers
    /// All that tells why it ends or ended. Null while nothing ends it; also of one that ended by
    /// itself, of which nothing more is to be told: after each migration there is such a source.
    std::shared_ptr<const PodRecord> ending;

    /// Succeeded or Failed.
    [[nodiscard]] bool is_final() const noexcept;

    bool operator==(const LauncherPod&) const = default;
};

/// Errors: invalid, with the path of what is wrong.
[[nodiscard]] Result<LauncherPod> decode_launcher_pod(JsonObject& object);

}  // namespace scout::kube
