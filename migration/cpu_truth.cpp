// SPDX-License-Identifier: Apache-2.0
#include "migration/cpu_truth.h"

#include <algorithm>
#include <utility>

namespace scout::migration {
namespace {

constexpr std::string_view emulation = "qemu";
constexpr std::string_view kvm = "kvm";

/// Architectures whose CPUs libvirt describes by model and features.
bool has_feature_model(std::string_view arch) {
    return arch.empty() || arch == "x86_64" || arch == "i686" || arch == "s390x";
}

Reason truth_reason(ReasonCode code, std::string text, std::vector<std::string> keys) {
    return Reason{
        .code = code, .layer = Layer::truth, .text = std::move(text), .keys = std::move(keys)};
}

std::optional<Reason> check_virt_type(const std::string& virt_type) {
    if (virt_type.empty() || virt_type == kvm) {
        return std::nullopt;
    }
    if (virt_type == emulation) {
        return truth_reason(
            ReasonCode::virt_type,
            "emulation (domain type qemu) is not KVM: what it offers says nothing of "
            "the host's CPU, so no migration facts may be drawn",
            {virt_type});
    }
    return truth_reason(ReasonCode::virt_type,
                        "domain type " + virt_type + " is not KVM: only KVM guests are compared",
                        {virt_type});
}

/// What keeps a document from being compared whatever its CPU is. A bare `<cpu>` names neither
/// domain type nor architecture; any other document that does not may be of anything.
std::optional<Reason> check_identity(const std::string& virt_type, const std::string& arch,
                                     bool bare) {
    if (auto reason = check_virt_type(virt_type)) {
        return reason;
    }
    if (!has_feature_model(arch)) {
        return truth_reason(
            ReasonCode::not_comparable,
            "libvirt does not describe CPUs of architecture " + arch + " by features", {arch});
    }
    if (virt_type.empty() && !bare) {
        return truth_reason(ReasonCode::not_comparable,
                            "the document names no domain type, so it need not be of KVM",
                            {"domain"});
    }
    if (arch.empty() && !bare) {
        return truth_reason(ReasonCode::not_comparable, "the document names no architecture",
                            {"arch"});
    }
    return std::nullopt;
}

/// Collects what the checks find; a `cannot` outweighs what is not known.
class Findings {
public:
    void cannot(Reason reason) { cannot_.push_back(std::move(reason)); }
    /// Both sides often lack the same fact; it is said once.
    void unknown(Reason reason) {
        const bool said =
            std::any_of(unknown_.begin(), unknown_.end(),
                        [&reason](const auto& other) { return other.text == reason.text; });
        if (!said) {
            unknown_.push_back(std::move(reason));
        }
    }
    [[nodiscard]] TruthAnswer answer() && {
        TruthAnswer out;
        out.verdict = !cannot_.empty()    ? Verdict::cannot
                      : !unknown_.empty() ? Verdict::unknown
                                          : Verdict::can;
        out.reasons = deciding_first(std::move(cannot_), std::move(unknown_));
        return out;
    }

private:
    std::vector<Reason> cannot_;
    std::vector<Reason> unknown_;
};

void check_vendor(const TruthGuest& guest, const TruthTarget& target, Findings& findings) {
    const std::string& wanted = guest.vendor;
    const std::string& offered = target.vendor;
    if (wanted == offered && !wanted.empty()) {
        return;
    }
    if (!guest.cpu.vendor.empty() && !offered.empty()) {
        findings.cannot(
            truth_reason(ReasonCode::vendor,
                         "the guest's CPU vendor is " + wanted + ", the target's is " + offered,
                         {wanted, offered}));
        return;
    }
    findings.unknown(truth_reason(
        ReasonCode::vendor,
        "the documents do not name the CPU vendor on both sides (guest: " + or_unstated(wanted) +
            ", target: " + or_unstated(offered) + ")",
        {"vendor"}));
}

/// On s390x features do not tell everything of a model: a generation has facilities of its own.
void check_generation(const GuestCpu& guest, const Profile& target, Findings& findings) {
    if (guest.arch != "s390x" && target.arch != "s390x") {
        return;
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): not_comparable() refuses a host without
    const std::string& own = target.host_model->name;
    const NamedModel* named = find_model(target, guest.model);
    if (guest.model == own || (named != nullptr && named->usable == Usable::yes)) {
        return;
    }
    findings.unknown(truth_reason(ReasonCode::model,
                                  "the guest's CPU is a " + guest.model + ", the target's a " +
                                      own + ", and the target does not name " + guest.model +
                                      " as usable: features alone do not tell generations of "
                                      "s390x apart",
                                  {guest.model, own}));
}

void check_machine(const GuestCpu& guest, const Profile& target, Findings& findings) {
    if (guest.machine.empty() || target.machines.empty()) {
        return;
    }
    if (std::binary_search(target.machines.begin(), target.machines.end(), guest.machine)) {
        return;
    }
    findings.cannot(truth_reason(ReasonCode::machine_type,
                                 "the target does not offer machine type " + guest.machine,
                                 {guest.machine}));
}

void check_tsc(const GuestCpu& guest, const HostFacts& facts, Findings& findings) {
    if (!guest.tsc_hz) {
        // Of a host-model yet to start it is only an ability: libvirt leaves it out then.
        if (guest.mode == CpuMode::custom && contains(guest.require, "invtsc")) {
            findings.cannot(truth_reason(ReasonCode::tsc,
                                         "the guest has invtsc and no pinned TSC frequency: "
                                         "libvirt and QEMU migrate no such guest",
                                         {"invtsc"}));
        }
        return;
    }
    const std::string wanted = std::to_string(*guest.tsc_hz);
    if (!facts.tsc_hz) {
        findings.unknown(truth_reason(ReasonCode::tsc,
                                      "the guest's TSC is pinned to " + wanted +
                                          " Hz and the target's TSC frequency is not known",
                                      {wanted}));
        return;
    }
    if (!tsc_acceptable(*guest.tsc_hz, *facts.tsc_hz, facts.tsc_scalable)) {
        const std::string offered = std::to_string(*facts.tsc_hz);
        findings.cannot(truth_reason(
            ReasonCode::tsc,
            "the guest's TSC is pinned to " + wanted + " Hz, the target runs at " + offered +
                (facts.tsc_scalable ? " Hz (scalable)" : " Hz and cannot scale"),
            {wanted, offered}));
    }
}

void check_address_bits(const GuestCpu& guest, const Profile& target, Findings& findings) {
    if (!guest.address_bits) {
        return;
    }
    const auto limit = address_limit(target);
    const std::string wanted = "the guest's physical addresses have a fixed width of " +
                               std::to_string(*guest.address_bits) + " bits";
    if (!limit) {
        findings.unknown(truth_reason(
            ReasonCode::feature, wanted + " and the target does not name its own (maxphysaddr)",
            {"maxphysaddr"}));
    } else if (*guest.address_bits > *limit) {
        findings.cannot(
            truth_reason(ReasonCode::feature,
                         wanted + ", the target has " + std::to_string(*limit) + " (maxphysaddr)",
                         {"maxphysaddr"}));
    }
}

/// Machine types differ in how many vCPUs they take, and the documents tell it of one.
void check_vcpus(const GuestCpu& guest, const Profile& target, Findings& findings) {
    if (!target.max_vcpus || guest.vcpus <= *target.max_vcpus) {
        return;
    }
    const auto& told_of = target.asked_machine;
    const auto text = "the guest may have " + std::to_string(guest.vcpus) +
                      " vCPUs, the target takes at most " + std::to_string(*target.max_vcpus) +
                      " with machine type " + or_unstated(told_of);
    if (!guest.machine.empty() && guest.machine == told_of) {
        findings.cannot(truth_reason(ReasonCode::machine_type, text, {"vcpu", told_of}));
        return;
    }
    findings.unknown(truth_reason(ReasonCode::machine_type,
                                  text + "; ask it for that of the guest, " +
                                      or_unstated(guest.machine) +
                                      " (`virsh domcapabilities --machine`)",
                                  {"vcpu", told_of}));
}

/// Whether these move is not a fact of CPUs: nobody may take the rest for the whole answer.
void check_ties(const GuestCpu& guest, Findings& findings) {
    if (!guest.ties || guest.ties->empty()) {
        return;
    }
    findings.unknown(truth_reason(
        ReasonCode::not_comparable,
        "not judged: the guest has " + join(*guest.ties) +
            "; check that libvirt and KubeVirt migrate such a guest (condition LiveMigratable of "
            "its VMI) and that the target has the same to give",
        *guest.ties));
}

/// Everything but the features.
void check_facts(const TruthGuest& guest, const TruthTarget& target, Findings& findings) {
    const auto& [profile, facts] = target.host;
    if (!guest.cpu.doubt.empty()) {
        findings.unknown(truth_reason(ReasonCode::not_comparable, guest.cpu.doubt, {"cpu"}));
    }
    check_vendor(guest, target, findings);
    check_generation(guest.cpu, profile, findings);
    check_machine(guest.cpu, profile, findings);
    check_vcpus(guest.cpu, profile, findings);
    check_tsc(guest.cpu, facts, findings);
    check_address_bits(guest.cpu, profile, findings);
    check_ties(guest.cpu, findings);
}

/// Answers what is missing for certain.
FeatureSet check_features(const EffectiveSet& wanted, const EffectiveSet& offered,
                          const FeatureSet& lost, Findings& findings) {
    for (const auto* side : {&wanted, &offered}) {
        if (!side->known()) {
            findings.unknown(truth_reason(ReasonCode::not_comparable, side->why, side->keys));
        }
    }
    if (!wanted.known() || !offered.known()) {
        return {};
    }
    const auto all_missing = missing_features(wanted, offered);
    auto missing = subtract(all_missing, lost);
    if (const auto perhaps = subtract(all_missing, missing); !perhaps.empty()) {
        findings.unknown(truth_reason(
            ReasonCode::feature,
            "the guest may have " + join(perhaps) +
                " since its start, which its own node lists no longer and the target's hypervisor "
                "cannot enable: its live XML tells",
            perhaps));
    }
    if (!missing.empty()) {
        findings.cannot(truth_reason(ReasonCode::feature,
                                     "the target's hypervisor cannot enable " + join(missing),
                                     missing));
    }
    return missing;
}

}  // namespace

std::string cpu_vendor(const GuestCpu& guest, const CpuMap* map) {
    if (!guest.vendor.empty()) {
        return guest.vendor;
    }
    const bool by_model = map != nullptr && guest.mode == CpuMode::host_model;
    const MapModel* model = by_model ? map->find(guest.model) : nullptr;
    return model != nullptr && !model->vendor.empty() ? model->vendor
                                                      : std::string{default_vendor(guest.arch)};
}

std::optional<unsigned> address_limit(const Profile& profile) {
    if (!profile.host_model || !profile.host_model->maxphysaddr) {
        return std::nullopt;
    }
    const auto& element = *profile.host_model->maxphysaddr;
    return element.limit ? element.limit : element.bits;
}

std::optional<Reason> not_comparable(const Profile& profile) {
    const bool bare = profile.origin == ProfileOrigin::bare_cpu;
    if (auto reason = check_identity(profile.virt_type, profile.arch, bare)) {
        return reason;
    }
    if (!profile.host_model || profile.host_model->name.empty()) {
        constexpr std::string_view not_offered =
            "libvirt offers no host-model there, so what its hypervisor can enable is not known; "
            "see that /dev/kvm is there and ask again with `virsh domcapabilities --virttype kvm`";
        return truth_reason(
            ReasonCode::not_comparable,
            profile.no_host_model.empty() ? std::string{not_offered} : profile.no_host_model,
            {"host-model"});
    }
    return std::nullopt;
}

std::optional<Reason> not_comparable(const GuestCpu& guest) {
    if (auto reason = check_identity(guest.virt_type, guest.arch, guest.bare)) {
        return reason;
    }
    if (guest.mode == CpuMode::host_passthrough) {
        return truth_reason(
            ReasonCode::not_comparable,
            "the guest has its host's CPU passed through: the document does not say "
            "which features it has",
            {"host-passthrough"});
    }
    if (guest.model.empty()) {
        return truth_reason(ReasonCode::not_comparable,
                            guest.doubt.empty()
                                ? "the document names no CPU model for the guest; use the live XML "
                                  "of a running guest"
                                : guest.doubt,
                            {"model"});
    }
    return std::nullopt;
}

FeatureSet missing_features(const EffectiveSet& guest, const EffectiveSet& host) {
    auto missing = subtract(guest.features, host.features);
    return guest.reports_vmx && host.reports_vmx ? missing : without_vmx_details(missing);
}

bool tsc_acceptable(std::uint64_t guest_hz, std::uint64_t host_hz, bool scalable) {
    constexpr std::uint64_t tolerance_ppm = 250;
    if (scalable && guest_hz <= host_hz) {
        return true;
    }
    const std::uint64_t distance = guest_hz > host_hz ? guest_hz - host_hz : host_hz - guest_hz;
    // distance ≤ host × 250 / 10⁶, without overflow for any frequency below 2⁵⁴ Hz.
    const std::uint64_t tolerance =
        host_hz / 1'000'000 * tolerance_ppm + host_hz % 1'000'000 * tolerance_ppm / 1'000'000;
    return distance <= tolerance;
}

TruthGuest prepare(const GuestCpu& guest, const CpuMap* map) {
    return {.cpu = guest,
            .fault = not_comparable(guest),
            .vendor = cpu_vendor(guest, map),
            .features = effective_features(guest, map)};
}

TruthTarget prepare(Target target, const CpuMap* map) {
    return {.host = target,
            .fault = not_comparable(target.profile),
            .vendor = cpu_vendor(offered_cpu(target.profile), map),
            .supported = supported_features(target.profile, map)};
}

TruthAnswer compare_truth(const TruthGuest& guest, const TruthTarget& target) {
    const auto& from = guest.cpu.arch;
    const auto& to = target.host.profile.arch;
    Findings findings;
    const bool emulated = (guest.fault && guest.fault->code == ReasonCode::virt_type) ||
                          (target.fault && target.fault->code == ReasonCode::virt_type);
    if (!emulated && !from.empty() && !to.empty() && from != to) {
        findings.cannot(truth_reason(ReasonCode::arch,
                                     "the guest is " + from + ", the target is " + to, {from, to}));
        return std::move(findings).answer();
    }
    if (guest.fault || target.fault) {
        for (const auto* fault : {&guest.fault, &target.fault}) {
            if (*fault) {
                findings.unknown(**fault);
            }
        }
        return std::move(findings).answer();
    }
    check_facts(guest, target, findings);
    auto missing = check_features(guest.features, target.supported, guest.cpu.lost, findings);
    auto answer = std::move(findings).answer();
    answer.missing = std::move(missing);
    answer.map = guest.features.map.empty() ? target.supported.map : guest.features.map;
    return answer;
}

TruthAnswer compare_truth(const GuestCpu& guest, Target target, const CpuMap* map) {
    return compare_truth(prepare(guest, map), prepare(target, map));
}

}  // namespace scout::migration
