// SPDX-License-Identifier: Apache-2.0
#include "documents/domain_document.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/logging.h"
#include "base/number.h"
#include "documents/reader.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

using migration::CpuMode;
using migration::GuestCpu;

/// libvirt's scaled integers: a unit without "iB" or "b" is binary, "KB" is 1000.
std::optional<std::uint64_t> bytes_in(std::string_view unit) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 16> units{{
        {"b", 1},
        {"bytes", 1},
        {"KB", 1000},
        {"k", 1ULL << 10U},
        {"KiB", 1ULL << 10U},
        {"", 1ULL << 10U},
        {"MB", 1000ULL * 1000},
        {"M", 1ULL << 20U},
        {"MiB", 1ULL << 20U},
        {"GB", 1000ULL * 1000 * 1000},
        {"G", 1ULL << 30U},
        {"GiB", 1ULL << 30U},
        {"TB", 1000ULL * 1000 * 1000 * 1000},
        {"T", 1ULL << 40U},
        {"TiB", 1ULL << 40U},
        {"K", 1ULL << 10U},
    }};
    for (const auto& [name, factor] : units) {
        if (name == unit) {
            return factor;
        }
    }
    return std::nullopt;
}

Result<std::uint64_t> memory_kib(const pugi::xml_node& memory) {
    if (!memory) {
        return std::uint64_t{0};
    }
    const std::string text = text_of(memory);
    const std::string_view unit = memory.attribute("unit").value();
    const auto value = whole_number(text);
    const auto factor = bytes_in(unit);
    std::uint64_t bytes = 0;
    if (!value || !factor || __builtin_mul_overflow(*value, *factor, &bytes)) {
        return fail(Errc::invalid, "expected <memory> as a number with a unit, found " +
                                       log_value(text) + " " + log_value(unit));
    }
    return bytes / 1024;
}

CpuMode mode_of(const pugi::xml_node& cpu, Reader& reader) {
    if (!cpu) {
        return CpuMode::unstated;
    }
    const std::string_view mode = cpu.attribute("mode").as_string("custom");
    if (mode == "host-model") {
        return CpuMode::host_model;
    }
    if (mode == "host-passthrough" || mode == "maximum") {
        return CpuMode::host_passthrough;
    }
    if (mode != "custom") {
        reader.fault(
            "expected mode custom, host-model, host-passthrough or maximum of <cpu>, found " +
            log_value(mode));
    }
    return cpu.child("model") ? CpuMode::custom : CpuMode::unstated;
}

/// libvirt passes a frequency of 0 over: not pinned.
std::optional<std::uint64_t> fixed_tsc(const pugi::xml_node& clock, Reader& reader) {
    const auto hz = reader.number(reader.only_named(clock, "timer", "tsc"), "frequency");
    return hz == 0U ? std::nullopt : hz;
}

/// Why the document does not say which CPU the guest has or will get; empty if it does. libvirt
/// settles all of this when the guest starts, and says check='full' from then on: live XML has an
/// exact model and only features that are required or disabled (virCPUUpdate,
/// qemuProcessUpdateLiveGuestCPU).
std::string doubt_of(const pugi::xml_node& root, const pugi::xml_node& cpu,
                     const FeatureLists& features, Reader& reader) {
    const std::string_view match = cpu.attribute("match").as_string("exact");
    const bool settled = std::string_view{cpu.attribute("check").value()} == "full";
    if (match != "exact" && match != "minimum" && match != "strict") {
        reader.fault("expected match exact, minimum or strict of <cpu>, found " + log_value(match));
    }
    if (std::string_view{cpu.attribute("mode").value()} == "host-model") {
        return "host-model is not resolved in the document";
    }
    if (features.optional) {
        return "features are optional in the document";
    }
    if (!cpu || settled) {
        return {};
    }
    if (match != "exact") {
        return "the document says match='" + std::string{match} + "', which its host settles";
    }
    if (features.forbid) {
        return "features are forbidden in the document: hosts that have them refuse the guest";
    }
    return root.attribute("id") ? std::string{}
                                : "the document is not of a running guest: it has no id";
}

/// The type only if it is one that libvirt has: answers do not repeat free text.
std::string tie(std::string_view name, std::string_view type,
                std::initializer_list<std::string_view> known) {
    const bool told = std::find(known.begin(), known.end(), type) != known.end();
    return std::string{name} + (told ? " " + std::string{type} : std::string{});
}

/// What libvirt or QEMU migrate under conditions that no document tells, if at all
/// (qemuMigrationSrcIsAllowed; QEMU's own blockers for encrypted memory, vDPA and shared folders).
migration::FeatureSet ties_of(const pugi::xml_node& root, Reader& reader) {
    std::vector<std::string> ties;
    if (const auto security = reader.only(root, "launchSecurity")) {
        ties.push_back(tie(security.name(), security.attribute("type").value(),
                           {"s390-pv", "sev", "sev-snp", "tdx"}));
    }
    const auto devices = reader.only(root, "devices");
    for (const auto& device : devices.children()) {
        const std::string_view name = device.name();
        const std::string_view type = device.attribute("type").value();
        if (name == "hostdev") {
            ties.push_back(tie(name, type, {"mdev", "pci", "scsi", "scsi_host", "usb"}));
        } else if (name == "interface" && (type == "hostdev" || type == "vdpa")) {
            ties.push_back(tie(name, type, {type}));
        } else if (name == "filesystem" || name == "shmem") {
            ties.emplace_back(name);
        }
    }
    return migration::make_feature_set(std::move(ties));
}

GuestCpu guest_cpu(const pugi::xml_node& root, Reader& reader) {
    const auto type = reader.only(reader.only(root, "os"), "type");
    const auto cpu = reader.only(root, "cpu");
    auto features = reader.features(cpu);
    auto doubt = doubt_of(root, cpu, features, reader);
    doubt += doubt.empty() ? "" : "; use the live XML of the running guest";
    const auto vcpus = reader.number_in(reader.only(root, "vcpu"), vcpu_counts).value_or(0);
    return GuestCpu{.mode = mode_of(cpu, reader),
                    .arch = reader.name_in(type, "arch"),
                    .virt_type = reader.name_in(root, "type"),
                    .vendor = reader.name(cpu, "vendor"),
                    .model = reader.name(cpu, "model"),
                    .require = std::move(features.require),
                    .disable = std::move(features.disable),
                    .machine = reader.name_in(type, "machine"),
                    .tsc_hz = fixed_tsc(reader.only(root, "clock"), reader),
                    .address_bits = migration::fixed_address_bits(reader.max_phys_addr(cpu)),
                    .vcpus = static_cast<unsigned>(vcpus),
                    .ties = ties_of(root, reader),
                    .doubt = std::move(doubt)};
}

}  // namespace

Result<LiveDomain> domain_from(const pugi::xml_node& root) {
    if (std::string_view{root.name()} != "domain") {
        return fail(Errc::invalid, "expected a live <domain>, found " + describe(root));
    }
    Reader reader;
    auto memory = memory_kib(reader.only(root, "memory"));
    if (!memory) {
        return fail(std::move(memory.error()));
    }
    LiveDomain domain{.uuid = reader.name(root, "uuid"),
                      .name = reader.name(root, "name"),
                      .memory_kib = *memory,
                      .cpu = guest_cpu(root, reader)};
    if (auto status = reader.status(); !status) {
        return fail(std::move(status.error()));
    }
    return domain;
}

Result<LiveDomain> parse_domain(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    return domain_from(document.document_element());
}

}  // namespace scout::documents
