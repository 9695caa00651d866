// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "migration/feature_set.h"
#include "migration/profile.h"

/// The guest's side of every comparison. Pure; any thread; nothing here fails.
namespace scout::migration {

/// How the guest's CPU was asked for. Source: formatdomain of libvirt, `<cpu mode>`.
enum class CpuMode : std::uint8_t {
    custom,            ///< a named model; also what libvirt makes of host-model in live XML
    host_model,        ///< not yet resolved: a guest that would be started on some node
    host_passthrough,  ///< also `maximum`: the host's CPU as it is, not described by the document
    unstated,          ///< no `<cpu>` in the document
};

/// What a guest needs from the host that will run it. For a running guest it comes from the live
/// domain XML (design §5), for a guest yet to start it is the host-model of a profile.
struct GuestCpu {
    CpuMode mode = CpuMode::custom;
    std::string arch;       ///< libvirt's name
    std::string virt_type;  ///< "kvm", "qemu", …; empty if unstated
    std::string vendor;     ///< empty: the document does not name it
    std::string model;
    FeatureSet require;  ///< policy require and force
    FeatureSet disable;  ///< policy disable and forbid
    /// Of `require`, what it perhaps has not: asked for at its start, and its own host lists it no
    /// longer.
    FeatureSet lost;
    std::string machine;  ///< resolved machine type ("pc-q35-7.2"); empty: none asked
    std::optional<std::uint64_t> tsc_hz;   ///< fixed TSC frequency in Hz, if pinned
    std::optional<unsigned> address_bits;  ///< see fixed_address_bits()
    unsigned vcpus = 0;                    ///< most that it may have (`<vcpu>`); 0: not told
    /// What else ties the guest to its host, and nobody judges here: "launchSecurity sev",
    /// "hostdev pci", …. None: whoever described the guest did not tell.
    std::optional<FeatureSet> ties;
    bool bare = false;  ///< from a lone `<cpu>`, which names neither architecture nor domain type
    std::string doubt;  ///< why the document leaves open which CPU the guest has (one clause), as
                        ///< one of a guest that does not run does; empty: it does not

    friend bool operator==(const GuestCpu&, const GuestCpu&) = default;
};

/// All that host-model stands for on a host with this profile: what the host can give. Model empty
/// if there is no host-model there. No machine type: domain capabilities name only what was asked
/// for.
[[nodiscard]] GuestCpu offered_cpu(const Profile& profile);

/// The guest that host-model makes there: the same without invtsc, which domain capabilities list
/// and libvirt leaves out when it starts one, for it ties a guest to the TSC of its host (the
/// cpu_map: `migratable='no'`).
[[nodiscard]] GuestCpu host_model_guest(const Profile& profile);

/// Width of physical addresses that a guest with this element insists on: mode "emulate" with bits.
/// None: it takes what its host has, as `passthrough` does, limit or not. Source of the rule:
/// formatdomain of libvirt.
[[nodiscard]] std::optional<unsigned> fixed_address_bits(const std::optional<MaxPhysAddr>& element);

/// A running guest completed by the host that runs it: live XML of a named model leaves out the
/// vendor, and KVM shows a guest the vendor of its host.
[[nodiscard]] GuestCpu running_on(GuestCpu guest, const Profile& host);

}  // namespace scout::migration
