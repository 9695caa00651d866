// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube/events.h"

/// What an Event about a VM refers to. Any thread.
namespace scout::cluster {

[[nodiscard]] kube::ObjectReference vmi_reference(std::string space, std::string name,
                                                  std::string uid);
/// A VirtualMachineInstanceMigration.
[[nodiscard]] kube::ObjectReference move_reference(std::string space, std::string name,
                                                   std::string uid);

}  // namespace scout::cluster
