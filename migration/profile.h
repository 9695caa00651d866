// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/feature_set.h"

/// What documents tell of a host, as plain values; names are libvirt's, of 1 to 253 bytes where
/// documents/ read them. Source: formatdomaincaps and formatcaps of libvirt. Pure; any thread;
/// nothing here fails.
namespace scout::migration {

/// The `usable` attribute of a named model in domain capabilities.
enum class Usable : std::uint8_t { no, yes, unknown };

struct NamedModel {
    std::string name;
    std::optional<Usable>
        usable;           ///< absent: the document does not say; KubeVirt ignores such a model
    std::string vendor;   ///< "Intel", "AMD", …, "unknown" for generic models, or empty
    FeatureSet blockers;  ///< features that keep it from being usable (newer libvirt)

    friend bool operator==(const NamedModel&, const NamedModel&) = default;
};

/// `<maxphysaddr>`: width of physical addresses in bits, 1 to 64.
struct MaxPhysAddr {
    std::string mode;               ///< "passthrough" or "emulate"
    std::optional<unsigned> bits;   ///< fixed width, for "emulate"
    std::optional<unsigned> limit;  ///< upper limit, for "passthrough"; in domain capabilities the
                                    ///< width of the host

    friend bool operator==(const MaxPhysAddr&, const MaxPhysAddr&) = default;
};

/// The CPU that a host-model guest gets: a named model, plus and minus features.
struct HostModel {
    std::string name;
    FeatureSet require;
    FeatureSet disable;
    std::optional<MaxPhysAddr> maxphysaddr;

    friend bool operator==(const HostModel&, const HostModel&) = default;
};

/// What kind of document a profile came from; decides what its silence means.
enum class ProfileOrigin : std::uint8_t {
    domain_capabilities,  ///< `virsh domcapabilities`
    bare_cpu,             ///< a lone host-model `<cpu>`: models and support are assumed (design §5)
};

/// What one hypervisor can run: domain capabilities, and the supported features and machine types
/// where other documents list them. Nothing of the host's identity is in it, so that equal nodes
/// share one profile (design §5). Written by `documents/`, never changed afterwards.
struct Profile {
    ProfileOrigin origin = ProfileOrigin::domain_capabilities;
    std::string arch;       ///< libvirt's name: "x86_64", "aarch64", "s390x", …
    std::string virt_type;  ///< domain type: "kvm", "qemu" (emulation), "xen", …; empty if unstated
    std::string vendor;     ///< of the host model; empty if unstated
    std::optional<HostModel> host_model;  ///< none where libvirt does not support host-model
    std::string no_host_model;            ///< or why there is none, with what to do
    std::vector<NamedModel> models;       ///< sorted by name
    bool supported_listed = false;  ///< `supported` was read (hypervisor-cpu-baseline), else empty
    FeatureSet supported;
    std::vector<std::string> machines;  ///< machine types and aliases, sorted; empty: not listed
    std::vector<std::string> launch_security;  ///< "s390-pv", "sev", "sev-es", "sev-snp", "tdx":
                                               ///< what the labeller finds there; sorted
    std::string asked_machine;  ///< `<machine>` of domain capabilities: what was asked for, not a
                                ///< requirement (design §5)
    std::optional<unsigned> max_vcpus;  ///< `<vcpu max>`: most vCPUs of one guest of that machine
                                        ///< type; none: not told

    friend bool operator==(const Profile&, const Profile&) = default;
};

/// Facts that travel beside the profile: they differ between nodes that are equal otherwise.
struct HostFacts {
    std::optional<std::uint64_t> tsc_hz;  ///< Hz, from `<counter name='tsc'>` of capabilities
    bool tsc_scalable = false;
    std::uint32_t numa_cells = 0;    ///< of the host's topology; 0: not told
    std::string microcode;           ///< revision, as /proc/cpuinfo prints it
    std::string kernel;              ///< release
    std::string bios;                ///< version and date
    std::string libvirt_version;     ///< of the yardstick (dossier §5.1, design §3)
    std::string hypervisor_version;  ///< QEMU

    friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

/// Content address: SHA-256 hex of a canonical text of the profile. Equal profiles, equal digest.
[[nodiscard]] std::string digest(const Profile& profile);

/// The named model of domain capabilities; nullptr if they do not list it.
[[nodiscard]] const NamedModel* find_model(const Profile& profile, std::string_view name);

/// Vendor of CPUs whose documents never name one: IBM on s390x, as the labeller has it (dossier
/// §5.2); empty elsewhere.
[[nodiscard]] std::string_view default_vendor(std::string_view arch) noexcept;

}  // namespace scout::migration
