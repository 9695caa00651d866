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
/// emulation is asked, and `kvm_note` says why. Only libvirt's word that it has no such thing makes
/// the answer smaller; any other failure of any question fails the probe.
/// Errors: unavailable (no libvirt, no driver, a fault of the moment), refused (no rights), invalid
/// (no machine type that matters is known there; the driver can't tell; over 4 MiB).
[[nodiscard]] Result<hypervisor::HostDocuments> probe_host(const HostQuestion& question);

}  // namespace scout::libvirt_glue
