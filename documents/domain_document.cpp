// SPDX-License-Identifier: Apache-2.0
#include "documents/domain_document.h"

#include <utility>

#include "base/logging.h"
#include "base/number.h"
#include "documents/reader.h"
#include "documents/xml.h"

namespace scout::documents {
namespace {

using migration::CpuMode;
using migration::GuestCpu;

Result<std::uint64_t> memory_kib(const pugi::xml_node& memory) {
    if (!memory) {
        return std::uint64_t{0};
    }
    const std::string text = text_of(memory);
    const std::string_view unit = memory.attribute("unit").value();
    const auto value = whole_number(text);
    const auto kib = value ? in_kib(*value, unit) : std::nullopt;
    if (!kib) {
        return fail(Errc::invalid, "expected <memory> as a number with a unit, found " +
                                       log_value(text) + " " + log_value(unit));
    }
    return *kib;
}

CpuMode mode_of(const pugi::xml_node& cpu, Reader& reader) {
    if (!cpu) {
        return CpuMode::unstated;
    }
    const std::string_view mode = cpu.attribute("mode").as_string("custom");
    const bool has_model = !cpu.child("model").empty();
    if (const auto known = cpu_mode(mode, has_model)) {
        return *known;
    }
    reader.fault("expected mode custom, host-model, host-passthrough or maximum of <cpu>, found " +
                 log_value(mode));
    return CpuMode::unstated;
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
        return std::string{unresolved_host_model};
    }
    if (features.optional) {
        return std::string{optional_features};
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

migration::FeatureSet ties_of(const pugi::xml_node& root, Reader& reader) {
    std::vector<std::string> ties;
    if (const auto security = reader.only(root, "launchSecurity")) {
        ties.push_back(security_tie(security.attribute("type").value()));
    }
    const auto devices = reader.only(root, "devices");
    for (const auto& device : devices.children()) {
        if (auto tie = device_tie(device.name(), device.attribute("type").value()); !tie.empty()) {
            ties.push_back(std::move(tie));
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
    const auto timer = reader.only_named(reader.only(root, "clock"), "timer", "tsc");
    const auto vcpus = reader.number_in(reader.only(root, "vcpu"), vcpu_counts).value_or(0);
    return GuestCpu{.mode = mode_of(cpu, reader),
                    .arch = reader.name_in(type, "arch"),
                    .virt_type = reader.name_in(root, "type"),
                    .vendor = reader.name(cpu, "vendor"),
                    .model = reader.name(cpu, "model"),
                    .require = std::move(features.require),
                    .disable = std::move(features.disable),
                    .machine = reader.name_in(type, "machine"),
                    .tsc_hz = pinned_tsc(reader.number(timer, "frequency")),
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
