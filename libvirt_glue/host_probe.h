// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::libvirt_glue {

struct HostQuestion {
    std::string uri;
    std::filesystem::path kvm_device = "/dev/kvm";
    bool local = true;  ///< the hypervisor is this host's, so its KVM device can be looked at
};

/// Opens the URI, asks all that HostDocuments holds, closes. Blocks for seconds: pool thread or
/// child process. An EventThread must be running. KVM is asked for first; where it can't be used
/// emulation is asked, and `kvm_note` says why.
/// Errors: unavailable (no libvirt, no driver), refused (no rights), invalid (no machine type that
/// matters is known there; the driver can't tell).
[[nodiscard]] Result<hypervisor::HostDocuments> probe_host(const HostQuestion& question);

}  // namespace scout::libvirt_glue
