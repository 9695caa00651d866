// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace scout::libvirt_glue {

/// Why this process can't make a KVM guest through the device; empty if it can. Asks the device for
/// its API version and makes an empty guest, for a device node alone says little (containers,
/// nested hosts). No thread is blocked for long.
[[nodiscard]] std::string kvm_fault(const std::filesystem::path& device);

}  // namespace scout::libvirt_glue
