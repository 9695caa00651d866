// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cluster/records.h"

/// Whose launcher a pod was that is known by its name in Events alone. Kubernetes cuts what a
/// generated name begins with, so that VMs with long names may share it. Pure.
namespace scout::cluster {

/// By its name.
[[nodiscard]] bool is_launcher_of(std::string_view pod, std::string_view vm);

/// The VM of a launcher's name; empty: it is none, or its VM's name is cut.
[[nodiscard]] std::string vm_of_launcher(std::string_view pod);

/// The name of that VM is cut in those of its launchers, and so not told by them.
[[nodiscard]] bool is_cut_in_launchers(std::string_view vm) noexcept;

/// The pod that the Event is about is known to be of another VM than this one.
[[nodiscard]] bool is_of_another(const Records& records, const kube::SeenEvent& event,
                                 std::string_view vm);

/// Another VM of the namespace with launchers that are called alike; empty: none is known.
[[nodiscard]] std::string namesake(const Records& records, std::string_view space,
                                   std::string_view vm);

}  // namespace scout::cluster
