// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "base/offload.h"
#include "libvirt_glue/hypervisor.h"

/// The libvirt adapter. Only `main.cpp` of the agent names it.
namespace scout::libvirt_glue {

struct LibvirtConfig {
    /// "qemu:///embed" (the default: no daemon), "qemu:///system", "test:///default", any other.
    std::string uri = "qemu:///embed";
    /// Where the embedded driver keeps its cache; absolute, made if missing. Used when the URI is
    /// an embed URI without `root=`.
    std::filesystem::path embed_root = "/var/lib/virt-scout/embed";
    /// Program and first arguments of the probing child; see probe_child.h.
    std::vector<std::string> probe_command{"/proc/self/exe", "--probe-child"};
    std::filesystem::path kvm_device = "/dev/kvm";
    std::chrono::milliseconds probe_limit{60'000};
    std::chrono::milliseconds call_limit{10'000};   ///< of one call about guests
    std::chrono::milliseconds first_back_off{250};  ///< as base/backoff.h draws
    std::chrono::milliseconds last_back_off{15'000};
    std::chrono::seconds keepalive_interval{5};
    unsigned keepalive_count = 3;  ///< unanswered ones that end the connection
    std::uint64_t seed = 0;        ///< of the jitter; 0: from the system's randomness
};

/// All faults of the settings, empty if there are none. Each names its key.
[[nodiscard]] std::vector<std::string> validate(const LibvirtConfig& config);

/// Guests behind `qemu:///embed` are only those that this process itself would start: none. Its
/// connection() is Reach::not_kept and run() only waits.
///
/// loop: where all members are called and handlers run. The config must be valid. pool and clock
/// must outlive the object, and the loop's context must outlive the pool's threads: a call that
/// comes back hands its answer to the loop. A URI that is not embedded starts libvirt's event
/// thread, one for the process; the embedded driver needs nothing of libvirt in this process.
[[nodiscard]] std::unique_ptr<hypervisor::Hypervisor> make_hypervisor(LibvirtConfig config,
                                                                      asio::any_io_executor loop,
                                                                      BlockingPool& pool,
                                                                      const Clock& clock);

}  // namespace scout::libvirt_glue
