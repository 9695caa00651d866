// SPDX-License-Identifier: Apache-2.0
#include "bench/agent_streams/profiles.h"

#include <cstdio>
#include <utility>

#include "migration/guest.h"
#include "wire/convert.h"

namespace scout::bench {
namespace {

constexpr std::size_t features = 148;
constexpr std::size_t models = 50;
constexpr std::size_t machines = 40;
constexpr std::size_t required = 30;

std::string feature(std::size_t number) {
    return "avx512-part" + std::to_string(number);
}

migration::Profile make_profile(std::size_t k) {
    migration::Profile profile;
    profile.arch = "x86_64";
    profile.virt_type = "kvm";
    profile.vendor = "Intel";
    auto& host_model = profile.host_model.emplace();
    host_model.name = "Server-Model-v" + std::to_string(k % models);
    for (std::size_t i = 0; i < required; ++i) {
        host_model.require.push_back(feature((i * 5 + k * 3) % features));
    }
    host_model.require = migration::make_feature_set(std::move(host_model.require));
    for (std::size_t i = 0; i < models; ++i) {
        profile.models.push_back(
            {.name = "Server-Model-v" + std::to_string(100 + i),
             .usable = i % 2 == 0 ? migration::Usable::yes : migration::Usable::no,
             .vendor = "Intel",
             .blockers =
                 i % 2 == 0 ? migration::FeatureSet{} : migration::FeatureSet{"hle", "rtm"}});
    }
    profile.supported_listed = true;
    std::vector<std::string> supported;
    for (std::size_t i = 0; supported.size() < features; ++i) {
        if ((i * 7 + k) % 37 != 0) {
            supported.push_back(feature(i));
        }
    }
    profile.supported = migration::make_feature_set(std::move(supported));
    for (std::size_t i = 0; i < machines; ++i) {
        profile.machines.push_back("pc-q35-" + std::to_string(100 + i));
    }
    return profile;
}

}  // namespace

std::vector<migration::Profile> make_profiles(std::size_t classes) {
    std::vector<migration::Profile> profiles;
    profiles.reserve(classes);
    for (std::size_t k = 0; k < classes; ++k) {
        profiles.push_back(make_profile(k));
    }
    return profiles;
}

virt_scout::v1::FullReport make_report(const migration::Profile& profile, std::size_t node,
                                       std::size_t guests) {
    virt_scout::v1::FullReport report;
    report.set_sequence(1);
    report.set_profile_digest(wire::profile_digest(profile));
    report.set_source("embedded");
    report.set_yardstick("libvirt 9.0.0 with QEMU 7.2.11, embedded driver of this host");
    auto* facts = report.mutable_facts();
    facts->set_tsc_hz(2'294'787'000 + node);
    facts->set_numa_cells(2);
    facts->set_microcode("0xd000404");
    facts->set_kernel("6.1.0-28-amd64");
    facts->set_bios("2.19.1 2025-01-14");
    facts->set_libvirt_version("9.0.0");
    facts->set_hypervisor_version("7.2.11");
    auto cpu = migration::host_model_guest(profile);
    cpu.mode = migration::CpuMode::custom;
    cpu.machine = "pc-q35-7.2";
    for (std::size_t i = 0; i < guests; ++i) {
        auto* guest = report.add_guests();
        std::string uuid(64, '\0');
        const int size =
            std::snprintf(uuid.data(), uuid.size(), "%08zx-0000-4000-8000-%012zx", node, i);
        guest->set_uuid(uuid.substr(0, static_cast<std::size_t>(size)));
        guest->set_name("tenant-" + std::to_string(i % 7) + "_database-" + std::to_string(i));
        guest->set_state("running");
        guest->set_since_unix_ms(1'764'000'000'000);
        guest->set_found_by("resync");
        guest->set_memory_kib(8'388'608);
        *guest->mutable_cpu() = wire::to_wire(cpu);
    }
    return report;
}

std::string node_name(std::size_t node) {
    return "node-" + std::to_string(node) + ".compute.example.org";
}

}  // namespace scout::bench
