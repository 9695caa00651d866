// SPDX-License-Identifier: Apache-2.0
#include "wire/convert.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "wire/checks.h"
#include "wire/convert_parts.h"

namespace scout::wire {
namespace {

using migration::CpuMode;

v1::GuestCpu::Mode mode_to_wire(CpuMode mode) {
    switch (mode) {
        case CpuMode::custom:
            return v1::GuestCpu::MODE_CUSTOM;
        case CpuMode::host_model:
            return v1::GuestCpu::MODE_HOST_MODEL;
        case CpuMode::host_passthrough:
            return v1::GuestCpu::MODE_HOST_PASSTHROUGH;
        case CpuMode::unstated:
            return v1::GuestCpu::MODE_UNSTATED;
    }
    return v1::GuestCpu::MODE_UNSTATED;
}

CpuMode mode_from_wire(v1::GuestCpu::Mode mode, Checks& checks) {
    switch (mode) {
        case v1::GuestCpu::MODE_UNSTATED:
            return CpuMode::unstated;
        case v1::GuestCpu::MODE_CUSTOM:
            return CpuMode::custom;
        case v1::GuestCpu::MODE_HOST_MODEL:
            return CpuMode::host_model;
        case v1::GuestCpu::MODE_HOST_PASSTHROUGH:
            return CpuMode::host_passthrough;
        default:
            checks.fault("mode", "0 to 3", std::to_string(static_cast<int>(mode)));
            return CpuMode::unstated;
    }
}

void host_model_to_wire(const migration::HostModel& model, v1::Profile::HostModel* out) {
    out->set_name(model.name);
    assign(out->mutable_require(), model.require);
    assign(out->mutable_disable(), model.disable);
    if (model.maxphysaddr) {
        auto* address = out->mutable_maxphysaddr();
        address->set_mode(model.maxphysaddr->mode);
        if (model.maxphysaddr->bits) {
            address->set_bits(*model.maxphysaddr->bits);
        }
        if (model.maxphysaddr->limit) {
            address->set_limit(*model.maxphysaddr->limit);
        }
    }
}

migration::HostModel host_model_from_wire(const v1::Profile::HostModel& model, Checks& checks) {
    migration::HostModel out;
    out.name = checks.name("host_model.name", model.name());
    out.require = checks.set("host_model.require", model.require());
    out.disable = checks.set("host_model.disable", model.disable());
    if (model.has_maxphysaddr()) {
        const auto& address = model.maxphysaddr();
        auto& to = out.maxphysaddr.emplace();
        to.mode = checks.name("host_model.maxphysaddr.mode", address.mode());
        to.bits = address.has_bits() ? std::optional{address.bits()} : std::nullopt;
        to.limit = address.has_limit() ? std::optional{address.limit()} : std::nullopt;
    }
    return out;
}

std::vector<migration::NamedModel> models_from_wire(const v1::Profile& profile, Checks& checks) {
    std::vector<migration::NamedModel> out;
    if (!checks.count("models", profile.models_size())) {
        return out;
    }
    out.reserve(static_cast<std::size_t>(profile.models_size()));
    for (const auto& model : profile.models()) {
        migration::NamedModel to;
        to.name = checks.name("models.name", model.name());
        to.usable = usable_from_wire("models.usable", model.usable(), checks);
        to.vendor = checks.name("models.vendor", model.vendor());
        to.blockers = checks.set("models.blockers", model.blockers());
        out.push_back(std::move(to));
    }
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    // Left alone if sorted: equal names keep their order.
    if (!std::is_sorted(out.begin(), out.end(), by_name)) {
        std::sort(out.begin(), out.end(), by_name);
    }
    return out;
}

}  // namespace

v1::Profile to_wire(const migration::Profile& profile) {
    v1::Profile out;
    out.set_bare_cpu(profile.origin == migration::ProfileOrigin::bare_cpu);
    out.set_arch(profile.arch);
    out.set_virt_type(profile.virt_type);
    out.set_vendor(profile.vendor);
    if (profile.host_model) {
        host_model_to_wire(*profile.host_model, out.mutable_host_model());
    }
    for (const auto& model : profile.models) {
        auto* to = out.add_models();
        to->set_name(model.name);
        to->set_usable(usable_to_wire(model.usable));
        to->set_vendor(model.vendor);
        assign(to->mutable_blockers(), model.blockers);
    }
    out.set_supported_listed(profile.supported_listed);
    assign(out.mutable_supported(), profile.supported);
    assign(out.mutable_machines(), profile.machines);
    out.set_asked_machine(profile.asked_machine);
    assign(out.mutable_launch_security(), profile.launch_security);
    if (profile.max_vcpus) {
        out.set_max_vcpus(*profile.max_vcpus);
    }
    return out;
}

std::string encode_profile(const migration::Profile& profile) {
    return to_wire(profile).SerializeAsString();
}

Result<migration::Profile> decode_profile(const std::string& bytes) {
    v1::Profile profile;
    if (!profile.ParseFromString(bytes)) {
        return fail(Errc::invalid, "expected a profile, found other bytes");
    }
    return from_wire(profile);
}

std::string profile_digest(const migration::Profile& profile) {
    return sha256_hex(encode_profile(profile));
}

Result<migration::Profile> from_wire(const v1::Profile& profile) {
    Checks checks;
    migration::Profile out;
    out.origin = profile.bare_cpu() ? migration::ProfileOrigin::bare_cpu
                                    : migration::ProfileOrigin::domain_capabilities;
    out.arch = checks.name("arch", profile.arch());
    out.virt_type = checks.name("virt_type", profile.virt_type());
    out.vendor = checks.name("vendor", profile.vendor());
    if (profile.has_host_model()) {
        out.host_model = host_model_from_wire(profile.host_model(), checks);
    }
    out.models = models_from_wire(profile, checks);
    out.supported_listed = profile.supported_listed();
    out.supported = checks.set("supported", profile.supported());
    out.machines = checks.set("machines", profile.machines());
    out.asked_machine = checks.name("asked_machine", profile.asked_machine());
    out.launch_security = checks.set("launch_security", profile.launch_security());
    if (profile.has_max_vcpus()) {
        out.max_vcpus = profile.max_vcpus();
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()).within("profile"));
    }
    return out;
}

v1::HostFacts to_wire(const migration::HostFacts& facts) {
    v1::HostFacts out;
    if (facts.tsc_hz) {
        out.set_tsc_hz(*facts.tsc_hz);
    }
    out.set_tsc_scalable(facts.tsc_scalable);
    out.set_numa_cells(facts.numa_cells);
    out.set_microcode(facts.microcode);
    out.set_kernel(facts.kernel);
    out.set_bios(facts.bios);
    out.set_libvirt_version(facts.libvirt_version);
    out.set_hypervisor_version(facts.hypervisor_version);
    return out;
}

migration::HostFacts from_wire(const v1::HostFacts& facts) {
    migration::HostFacts out;
    if (facts.has_tsc_hz()) {
        out.tsc_hz = facts.tsc_hz();
    }
    out.tsc_scalable = facts.tsc_scalable();
    out.numa_cells = facts.numa_cells();
    out.microcode = cut(facts.microcode());
    out.kernel = cut(facts.kernel());
    out.bios = cut(facts.bios());
    out.libvirt_version = cut(facts.libvirt_version());
    out.hypervisor_version = cut(facts.hypervisor_version());
    return out;
}

v1::GuestCpu to_wire(const migration::GuestCpu& guest) {
    v1::GuestCpu out;
    out.set_mode(mode_to_wire(guest.mode));
    out.set_arch(guest.arch);
    out.set_virt_type(guest.virt_type);
    out.set_vendor(guest.vendor);
    out.set_model(guest.model);
    assign(out.mutable_require(), guest.require);
    assign(out.mutable_disable(), guest.disable);
    out.set_machine(guest.machine);
    if (guest.tsc_hz) {
        out.set_tsc_hz(*guest.tsc_hz);
    }
    if (guest.address_bits) {
        out.set_address_bits(*guest.address_bits);
    }
    out.set_bare(guest.bare);
    out.set_doubt(guest.doubt);
    out.set_vcpus(guest.vcpus);
    out.set_ties_told(guest.ties.has_value());
    assign(out.mutable_ties(), guest.ties.value_or(migration::FeatureSet{}));
    return out;
}

Result<migration::GuestCpu> from_wire(const v1::GuestCpu& guest) {
    Checks checks;
    migration::GuestCpu out;
    out.mode = mode_from_wire(guest.mode(), checks);
    out.arch = checks.name("arch", guest.arch());
    out.virt_type = checks.name("virt_type", guest.virt_type());
    out.vendor = checks.name("vendor", guest.vendor());
    out.model = checks.name("model", guest.model());
    out.require = checks.set("require", guest.require());
    out.disable = checks.set("disable", guest.disable());
    out.machine = checks.name("machine", guest.machine());
    if (guest.has_tsc_hz()) {
        out.tsc_hz = guest.tsc_hz();
    }
    if (guest.has_address_bits()) {
        out.address_bits = guest.address_bits();
    }
    out.bare = guest.bare();
    out.doubt = checks.name("doubt", guest.doubt());
    out.vcpus = guest.vcpus();
    if (guest.ties_told()) {
        out.ties = checks.set("ties", guest.ties());
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()).within("guest CPU"));
    }
    return out;
}

}  // namespace scout::wire
