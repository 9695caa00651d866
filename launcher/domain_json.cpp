// SPDX-License-Identifier: Apache-2.0
#include "launcher/domain_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/number.h"
#include "documents/domain_rules.h"
#include "kube/json.h"
#include "launcher/read_document.h"

namespace scout::launcher {

/// No name or UID of Kubernetes is longer; what is kept of a launcher's words has a limit.
static constexpr std::size_t longest_word = 253;

[[nodiscard]] static Status read_json(kube::JsonValue value, MigrationMetadata& target) {
    auto done = read_members(
        value, kube::Field{"UID", target.uid}, kube::Field{"StartTimestamp", target.start},
        kube::Field{"EndTimestamp", target.end}, kube::Field{"Failed", target.failed},
        kube::Field{"Mode", target.mode});
    for (auto* text : {&target.uid, &target.mode}) {
        text->resize(std::min(text->size(), longest_word));
    }
    return done;
}

namespace {

using kube::Field;
using kube::JsonValue;
using kube::Nested;
using migration::CpuMode;
using migration::GuestCpu;

/// What libvirt counts vCPUs in.
constexpr std::int64_t most_vcpus = std::numeric_limits<unsigned>::max();

struct Memory {
    std::int64_t value = 0;
    std::string unit;
};

struct Feature {
    std::string name;
    std::string policy;
};

struct Timer {
    std::string name;
    std::string frequency;
};

/// What has a type: host devices, interfaces, file systems, launch security.
struct Typed {
    std::string type;
};

/// The parts of `Spec` that say where the guest can go.
struct Hardware {
    Memory memory;
    std::string type;
    std::string arch;
    std::string machine;
    std::string mode;
    std::string model;
    std::vector<Feature> features;
    std::vector<Timer> timers;
    std::vector<Typed> hostdevs;
    std::vector<Typed> interfaces;
    std::vector<Typed> filesystems;
    std::optional<Typed> security;
    std::optional<Typed> huge_pages;
    std::int64_t vcpus = 0;
};

[[nodiscard]] Status read_json(JsonValue value, Feature& target) {
    return read_members(value, Field{"Name", target.name}, Field{"Policy", target.policy});
}

[[nodiscard]] Status read_json(JsonValue value, Timer& target) {
    return read_members(value, Field{"Name", target.name}, Field{"Frequency", target.frequency});
}

[[nodiscard]] Status read_json(JsonValue value, Typed& target) {
    return read_members(value, Field{"Type", target.type});
}

Status read_domain(kube::JsonObject& object, Domain& domain, Hardware& hardware) {
    const Nested metadata{"KubeVirt", Field{"UID", domain.vmi_uid},
                          Nested{"GracePeriod", Field{"DeletionGracePeriodSeconds", domain.grace},
                                 Field{"DeletionTimestamp", domain.first_shutdown_request},
                                 Field{"MarkedForGracefulShutdown", domain.marked}},
                          Field{"Migration", domain.migration}};
    Few<Typed> hostdevs{hardware.hostdevs};
    Few<Typed> interfaces{hardware.interfaces};
    Few<Typed> filesystems{hardware.filesystems};
    Few<Timer> timers{hardware.timers};
    Few<Feature> features{hardware.features};
    const Nested devices{"Devices", Field{"HostDevices", hostdevs}, Field{"Interfaces", interfaces},
                         Field{"Filesystems", filesystems}};
    const Nested spec{"Spec",
                      Field{"Type", hardware.type},
                      Field{"UUID", domain.uuid},
                      Nested{"Memory", Field{"Value", hardware.memory.value},
                             Field{"Unit", hardware.memory.unit}},
                      Nested{"MemoryBacking", Field{"HugePages", hardware.huge_pages}},
                      Nested{"OS", Nested{"Type", Field{"Arch", hardware.arch},
                                          Field{"Machine", hardware.machine}}},
                      devices,
                      Nested{"Clock", Field{"Timer", timers}},
                      Nested{"Metadata", metadata},
                      Nested{"CPU", Field{"Mode", hardware.mode}, Field{"Model", hardware.model},
                             Field{"Features", features}},
                      Nested{"VCPU", Field{"CPUs", hardware.vcpus}},
                      Field{"LaunchSecurity", hardware.security}};
    return object.read(
        Nested{"ObjectMeta", Field{"name", domain.name}, Field{"namespace", domain.space}}, spec,
        Nested{"Status", Field{"Status", domain.status}, Field{"Reason", domain.reason}});
}

Result<documents::FeatureLists> features_of(const std::vector<Feature>& features) {
    documents::FeaturePolicies policies;
    for (const auto& feature : features) {
        if (feature.name.empty() || !documents::is_plain_name(feature.name)) {
            return fail(Errc::invalid,
                        feature.name.empty()
                            ? "expected a name of every CPU feature, found none"
                            : documents::name_fault(feature.name, "Spec.CPU.Features"));
        }
        auto added =
            policies.add(feature.name, feature.policy.empty() ? "require" : feature.policy);
        if (!added) {
            return fail(std::move(added.error()));
        }
    }
    return policies.take();
}

Status check_names(const Hardware& hardware) {
    for (const auto* text : {&hardware.type, &hardware.arch, &hardware.machine, &hardware.model}) {
        if (!documents::is_plain_name(*text)) {
            return fail(Errc::invalid, documents::name_fault(*text, "Spec"));
        }
    }
    return {};
}

Result<std::optional<std::uint64_t>> pinned_tsc(const std::vector<Timer>& timers) {
    const auto tsc = std::find_if(timers.begin(), timers.end(),
                                  [](const Timer& timer) { return timer.name == "tsc"; });
    if (tsc == timers.end() || tsc->frequency.empty()) {
        return std::nullopt;
    }
    const auto hz = whole_number(tsc->frequency);
    if (!hz) {
        return fail(Errc::invalid, "expected the frequency of timer tsc as a whole number, found " +
                                       log_value(tsc->frequency));
    }
    return documents::pinned_tsc(hz);
}

migration::FeatureSet ties_of(const Hardware& hardware) {
    std::vector<std::string> ties;
    if (hardware.security) {
        ties.push_back(documents::security_tie(hardware.security->type));
    }
    const auto add = [&ties](std::string_view element, const std::vector<Typed>& devices) {
        for (const auto& device : devices) {
            if (auto tie = documents::device_tie(element, device.type); !tie.empty()) {
                ties.push_back(std::move(tie));
            }
        }
    };
    add("hostdev", hardware.hostdevs);
    add("interface", hardware.interfaces);
    add("filesystem", hardware.filesystems);
    return migration::make_feature_set(std::move(ties));
}

/// A launcher's domain is live XML read again, where libvirt has settled everything, so only a
/// domain that does not run leaves something open.
std::string doubt_of(const Domain& domain, CpuMode mode, const documents::FeatureLists& features) {
    if (mode == CpuMode::host_model) {
        return std::string{documents::unresolved_host_model};
    }
    if (features.optional) {
        return std::string{documents::optional_features};
    }
    return is_alive(domain) ? std::string{} : "the guest does not run";
}

Result<GuestCpu> guest_cpu(const Domain& domain, const Hardware& hardware) {
    if (auto checked = check_names(hardware); !checked) {
        return fail(std::move(checked.error()));
    }
    auto features = features_of(hardware.features);
    if (!features) {
        return fail(std::move(features.error()));
    }
    const auto tsc = pinned_tsc(hardware.timers);
    if (!tsc) {
        return fail(tsc.error());
    }
    const auto mode = documents::cpu_mode(hardware.mode.empty() ? "custom" : hardware.mode,
                                          !hardware.model.empty());
    if (!mode) {
        return fail(Errc::invalid,
                    "expected Spec.CPU.Mode custom, host-model, host-passthrough or "
                    "maximum, found " +
                        log_value(hardware.mode));
    }
    const bool counted = hardware.vcpus > 0 && hardware.vcpus <= most_vcpus;
    return GuestCpu{.mode = *mode,
                    .arch = hardware.arch,
                    .virt_type = hardware.type,
                    .vendor = {},
                    .model = hardware.model,
                    .require = std::move(features->require),
                    .disable = std::move(features->disable),
                    .machine = hardware.machine,
                    .tsc_hz = *tsc,
                    .address_bits = {},
                    .vcpus = counted ? static_cast<unsigned>(hardware.vcpus) : 0,
                    .ties = ties_of(hardware),
                    .doubt = doubt_of(domain, *mode, *features)};
}

Status describe(Domain& domain, const Hardware& hardware) {
    for (auto* text : {&domain.name, &domain.space, &domain.vmi_uid, &domain.uuid, &domain.status,
                       &domain.reason}) {
        if (!documents::is_plain_name(*text)) {
            return fail(Errc::invalid, documents::name_fault(*text, "the domain"));
        }
    }
    std::transform(domain.uuid.begin(), domain.uuid.end(), domain.uuid.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto memory = hardware.memory.value < 0
                            ? std::nullopt
                            : documents::in_kib(static_cast<std::uint64_t>(hardware.memory.value),
                                                hardware.memory.unit);
    domain.memory_kib = memory.value_or(0);
    domain.huge_pages = hardware.huge_pages.has_value();
    auto cpu = memory
                   ? guest_cpu(domain, hardware)
                   : fail(Errc::invalid, "expected Spec.Memory as an amount with a unit, found " +
                                             std::to_string(hardware.memory.value) + " " +
                                             log_value(hardware.memory.unit));
    if (cpu) {
        domain.cpu = *std::move(cpu);
    } else {
        domain.cpu_error = std::move(cpu.error().message);
    }
    return {};
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> state_words{{
    {"Running", "running"},
    {"Blocked", "blocked"},
    {"Paused", "paused"},
    {"ShuttingDown", "shutdown"},
    {"Shutoff", "shutoff"},
    {"Crashed", "crashed"},
    {"PMSuspended", "pmsuspended"},
    {"NoState", "nostate"},
}};

}  // namespace

Result<std::optional<Domain>> parse_domain(std::string json) {
    if (json.empty()) {
        return std::nullopt;
    }
    Domain domain;
    Hardware hardware;
    auto done = read_document(json, [&domain, &hardware](kube::JsonObject& object) {
        return read_domain(object, domain, hardware);
    });
    if (done) {
        done = describe(domain, hardware);
    }
    if (!done) {
        return fail(std::move(done.error()).within("domain"));
    }
    return domain;
}

std::string_view state_word(const Domain& domain) noexcept {
    for (const auto& [status, word] : state_words) {
        if (status == domain.status) {
            return word;
        }
    }
    return "nostate";
}

bool is_alive(const Domain& domain) noexcept {
    return !domain.status.empty() && domain.status != "Shutoff" && domain.status != "Crashed";
}

bool migration_in_progress(const Domain& domain) noexcept {
    const auto& own = domain.migration;
    const bool began = own && own->start && !own->end;
    return began || (domain.status == "Paused" &&
                     (domain.reason == "Migration" || domain.reason == "StartingUp" ||
                      domain.reason == "Postcopy"));
}

bool is_not_yet_here(const Domain& domain) noexcept {
    const bool began_here = domain.migration && domain.migration->start;
    const bool waits = domain.status == "Paused" &&
                       (domain.reason == "Migration" || domain.reason == "StartingUp");
    return domain.status.empty() || domain.reason == "NonExistent" || (waits && !began_here);
}

bool has_moved_away(const Domain& domain) noexcept {
    return domain.status == "Shutoff" && domain.reason == "Migrated";
}

}  // namespace scout::launcher
