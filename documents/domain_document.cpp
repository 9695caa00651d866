// SPDX-License-Identifier: Apache-2.0
#include "documents/domain_document.h"

#include <array>
#include <utility>

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
    const auto value = number(text);
    const auto factor = bytes_in(unit);
    std::uint64_t bytes = 0;
    if (!value || !factor || __builtin_mul_overflow(*value, *factor, &bytes)) {
        return fail(Errc::invalid, "expected <memory> as a number with a unit, found '" + text +
                                       "' '" + std::string{unit} + "'");
    }
    return bytes / 1024;
}

CpuMode mode_of(const pugi::xml_node& cpu) {
    const std::string_view mode = cpu.attribute("mode").value();
    if (!cpu) {
        return CpuMode::unstated;
    }
    if (mode == "host-model") {
        return CpuMode::host_model;
    }
    if (mode == "host-passthrough" || mode == "maximum") {
        return CpuMode::host_passthrough;
    }
    return cpu.child("model") ? CpuMode::custom : CpuMode::unstated;
}

std::optional<std::uint64_t> fixed_tsc(const pugi::xml_node& clock) {
    for (const auto& timer : clock.children("timer")) {
        if (std::string_view{timer.attribute("name").value()} == "tsc") {
            return number(timer.attribute("frequency").value());
        }
    }
    return std::nullopt;
}

GuestCpu guest_cpu(const pugi::xml_node& root) {
    const auto type = root.child("os").child("type");
    const auto cpu = root.child("cpu");
    return GuestCpu{.mode = mode_of(cpu),
                    .arch = type.attribute("arch").value(),
                    .virt_type = root.attribute("type").value(),
                    .vendor = text_of(cpu.child("vendor")),
                    .model = text_of(cpu.child("model")),
                    .require = features_with(cpu, "require", "force"),
                    .disable = features_with(cpu, "disable", "forbid"),
                    .machine = type.attribute("machine").value(),
                    .tsc_hz = fixed_tsc(root.child("clock"))};
}

}  // namespace

Result<LiveDomain> domain_from(const pugi::xml_node& root) {
    if (std::string_view{root.name()} != "domain") {
        return fail(Errc::invalid,
                    "expected a live <domain>, found <" + std::string{root.name()} + ">");
    }
    auto memory = memory_kib(root.child("memory"));
    if (!memory) {
        return fail(std::move(memory.error()));
    }
    return LiveDomain{.uuid = text_of(root.child("uuid")),
                      .name = text_of(root.child("name")),
                      .memory_kib = *memory,
                      .cpu = guest_cpu(root)};
}

Result<LiveDomain> parse_domain(std::string_view xml) {
    pugi::xml_document document;
    if (auto loaded = load(document, xml); !loaded) {
        return fail(std::move(loaded.error()));
    }
    return domain_from(document.document_element());
}

}  // namespace scout::documents
