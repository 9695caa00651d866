// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/offload.h"
#include "libvirt_glue/call_lane.h"
#include "libvirt_glue/hypervisor.h"
#include "libvirt_glue/libvirt_hypervisor.h"

namespace scout::libvirt_glue {

/// Asks what the host can run: an embed URI in a child process, any other in a pool thread over a
/// connection of its own, for reading what a host can run needs more rights than watching guests.
class HostProber {
public:
    HostProber(const LibvirtConfig& config, BlockingPool& pool);

    /// See hypervisor::Hypervisor::probe().
    [[nodiscard]] Task<Result<hypervisor::HostDocuments>> probe();

    [[nodiscard]] std::uint64_t stuck_calls() const noexcept { return lane_.stuck_calls(); }

private:
    Task<Result<hypervisor::HostDocuments>> probe_in_child();
    Task<Result<hypervisor::HostDocuments>> probe_in_pool();

    LibvirtConfig config_;
    CallLane lane_;
    bool probing_ = false;
};

}  // namespace scout::libvirt_glue
