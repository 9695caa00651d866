// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "migration/cpu_map.h"
#include "migration/feature_set.h"
#include "migration/guest.h"
#include "migration/profile.h"
#include "migration/verdict.h"

/// The CPU truth layer. Rule (checked on 51 real CPUs, cases.md section A):
///   a guest's CPU = features of its model in the cpu_map + require − disable;
///   it fits if the vendor is equal and the target's hypervisor can enable every feature of it.
/// `vmx-*` are compared only when both sides list some. A fixed width of physical addresses must
/// not exceed the target's: libvirt refuses to start such a guest (qemuValidateDomainDefCpu, mode
/// "emulate"), while it compares nothing where the width is passed through, limit or not. On s390x
/// the model must be the target's own or usable there. A running guest with invtsc stays where it
/// is unless its TSC is pinned (qemuMigrationSrcIsAllowed). It may not have more vCPUs than libvirt
/// allows there with its machine type (qemuValidateDomainVCpuTopology). What else ties it to its
/// host is not judged, and so no answer about such a guest is "can". Frequencies are in
/// Hz, widths of addresses in bits. Pure; any thread; nothing here fails: what is not known is said
/// to be.
namespace scout::migration {

/// How a set of features was found.
enum class SetOrigin : std::uint8_t {
    listed,     ///< hypervisor-cpu-baseline or node labels listed it
    expanded,   ///< the document itself lists every feature (`--expand-cpu-features`)
    by_map,     ///< model expanded through a cpu_map
    assumed,    ///< a bare `<cpu>`: its own set is taken as what is supported
    not_known,  ///< could not be found; `why` says why
};

/// Features of a guest or of a hypervisor, or the reason why they cannot be told.
struct EffectiveSet {
    SetOrigin origin = SetOrigin::not_known;
    FeatureSet features;            ///< empty when not known
    bool reports_vmx = false;       ///< the document lists vmx-*: only then are they compared
    std::string map;                ///< name of the cpu_map if it was needed
    std::string why;                ///< one sentence when not known
    std::vector<std::string> keys;  ///< what `why` speaks of

    [[nodiscard]] bool known() const noexcept { return origin != SetOrigin::not_known; }
};

/// True if the lists name every feature of the CPU, so that no cpu_map is needed. libvirt leaves no
/// mark; a document that lists what every model of the architecture has (x86: fpu, cx8, mmx;
/// s390x: esan3, zarch) was expanded, for an unexpanded one never repeats the model. Where the
/// model is known, effective_features() asks for all of its features besides.
[[nodiscard]] bool is_expanded(const std::string& arch, const FeatureSet& require,
                               const FeatureSet& disable);

/// Features that the guest has. `map` may be null: then only expanded documents are known.
[[nodiscard]] EffectiveSet effective_features(const GuestCpu& guest, const CpuMap* map);

/// Features that the hypervisor can enable: the list where there is one, else its host-model's set.
[[nodiscard]] EffectiveSet supported_features(const Profile& profile, const CpuMap* map);

/// Vendor that the guest's CPU shows: its own, else for a host-model the one its model is of, else
/// the one of its architecture; empty: not known, and never taken for equal to another that is not.
/// A named model tells none: under KVM the guest shows the vendor of its host.
[[nodiscard]] std::string cpu_vendor(const GuestCpu& guest, const CpuMap* map);

/// Widest physical addresses that the hypervisor can show a guest, in bits: what domain
/// capabilities say of the host, or what a bare `<cpu>` has itself; none if unstated.
[[nodiscard]] std::optional<unsigned> address_limit(const Profile& profile);

/// Why migration facts may not be drawn from the profile (emulation, no host-model, other
/// architectures, a document that names no architecture or no domain type, …); nothing if they may.
/// Does not look at the cpu_map.
[[nodiscard]] std::optional<Reason> not_comparable(const Profile& profile);
[[nodiscard]] std::optional<Reason> not_comparable(const GuestCpu& guest);

/// Answer of the truth layer for one guest and one target.
struct TruthAnswer {
    Verdict verdict = Verdict::unknown;
    FeatureSet missing;           ///< exact set, also when the vendor differs; empty if not known
    std::vector<Reason> reasons;  ///< heaviest first
    std::string map;              ///< cpu_map that was used, or empty
};

/// What comparisons ask of a guest alone, found once for all of its targets. Refers to the guest.
struct TruthGuest {
    const GuestCpu& cpu;
    std::optional<Reason> fault;  ///< not_comparable()
    std::string vendor;           ///< cpu_vendor()
    EffectiveSet features;        ///< effective_features()
};
[[nodiscard]] TruthGuest prepare(const GuestCpu& guest, const CpuMap* map);
TruthGuest prepare(const GuestCpu&& guest, const CpuMap* map) = delete;

/// Features of the guest that the host cannot enable; vmx-* only where both list some. Both sets
/// must be known.
[[nodiscard]] FeatureSet missing_features(const EffectiveSet& guest, const EffectiveSet& host);

/// A host as a target: its profile and the facts beside it.
struct Target {
    const Profile& profile;
    const HostFacts& facts;
};

/// The same of a target. Refers to what the target refers to.
struct TruthTarget {
    Target host;
    std::optional<Reason> fault;
    std::string vendor;  ///< cpu_vendor() of its host-model
    EffectiveSet supported;
};
[[nodiscard]] TruthTarget prepare(Target target, const CpuMap* map);

/// What one side does not tell makes the answer unknown, never an error. Passed over are only the
/// machine type and the number of vCPUs where either side does not tell them, and ties that are not
/// told of the guest: not_judged() of comparison.h names those. Both sides' faults and everything
/// that is missing are among the reasons. Both were prepared with one map, which may be null.
[[nodiscard]] TruthAnswer compare_truth(const TruthGuest& guest, const TruthTarget& target);
[[nodiscard]] TruthAnswer compare_truth(const GuestCpu& guest, Target target, const CpuMap* map);

/// KubeVirt's tolerance (case 14; TSCTolerancePPM = 250, dossier §14): a host that cannot scale
/// takes frequencies within 250 ppm of its own, one that can takes lower ones too. Both in Hz,
/// below 2⁵⁴.
[[nodiscard]] bool tsc_acceptable(std::uint64_t guest_hz, std::uint64_t host_hz, bool scalable);

}  // namespace scout::migration
