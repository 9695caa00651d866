// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/new_pod.h"

namespace scout::cluster {

struct GraceRaise {
    std::string patch;                  ///< JSON Patch (RFC 6902) of the pod; empty: none
    std::vector<std::string> warnings;  ///< one sentence each
};

/// More time between SIGTERM to a launcher and the end of its guest, and so for a migration
/// (design §6; dossier §3.2, §16): the time after which the launcher kills the guest, and with it
/// the pod's terminationGracePeriodSeconds, 15 s longer as KubeVirt has it. Both are fixed once the
/// pod is made. They are raised, never lowered; how long an ordinary stop may take stays as the
/// VM's owner set it, for virt-handler goes by the VMI.
///
/// What the pod's VM wants comes first, else what its namespace wants, in seconds from 1 to
/// most_grace_seconds; empty: nothing. Anything else changes nothing and is a warning. Pure.
[[nodiscard]] GraceRaise raise_launcher_grace(const kube::NewPod& pod,
                                              std::string_view wanted_by_namespace);

inline constexpr unsigned most_grace_seconds = 3600;

/// After how many seconds a launcher that is made now may kill its guest at the earliest, as its VM
/// or else its namespace wants it; none: neither does, or what counts is no such number.
[[nodiscard]] std::optional<std::chrono::seconds> wanted_grace(std::string_view own,
                                                               std::string_view of_namespace);

}  // namespace scout::cluster
