// SPDX-License-Identifier: Apache-2.0
#include "migration/labels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

/// Each of them also as "-v1".
constexpr std::array<std::string_view, 17> built_in_obsolete{
    "486",    "pentium",  "pentium2", "pentium3",   "pentiumpro", "coreduo",
    "n270",   "core2duo", "Conroe",   "athlon",     "phenom",     "qemu64",
    "qemu32", "kvm64",    "kvm32",    "Opteron_G1", "Opteron_G2"};

void set(Labels& labels, std::string_view prefix, std::string_view name,
         std::string value = "true") {
    std::string key{prefix};
    key += name;
    labels.insert_or_assign(std::move(key), std::move(value));
}

/// arm64 has neither CPU models nor features nor a host-model in its labels (dossier §5.2).
bool has_cpu_labels(std::string_view arch) {
    return arch.empty() || arch == "x86_64" || arch == "s390x";
}

void add_models(Labels& labels, const Profile& profile, const LabelOptions& options) {
    for (const auto& model : profile.models) {
        if (!model.usable || is_obsolete(model.name, options)) {
            continue;
        }
        set(labels, label::known_model, model.name);
        if (*model.usable != Usable::no) {
            set(labels, label::cpu_model, model.name);
        }
    }
}

/// A bare `<cpu>` lists no models: every model of the map counts as known (design §5). Which of
/// them are usable is not claimed.
void add_assumed_models(Labels& labels, const CpuMap* map, const LabelOptions& options) {
    if (map == nullptr) {
        return;
    }
    for (const auto& [name, model] : map->models()) {
        if (!is_obsolete(name, options)) {
            set(labels, label::known_model, name);
        }
    }
}

void add_host_model(Labels& labels, const Profile& profile, const HostModel& host_model,
                    const LabelOptions& options) {
    if (options.obsolete_models != nullptr && options.obsolete_models->contains(host_model.name)) {
        set(labels, label::obsolete, "");
    }
    for (const auto& feature : host_model.require) {
        set(labels, label::required_feature, feature);
    }
    const std::string_view vendor =
        profile.vendor.empty() ? default_vendor(profile.arch) : std::string_view{profile.vendor};
    if (!vendor.empty()) {
        set(labels, label::vendor, vendor);
    }
    set(labels, label::host_model, host_model.name);
}

}  // namespace

bool is_built_in_obsolete(std::string_view model) {
    if (model.ends_with("-v1")) {
        model.remove_suffix(3);
    }
    return std::find(built_in_obsolete.begin(), built_in_obsolete.end(), model) !=
           built_in_obsolete.end();
}

bool is_obsolete(std::string_view model, const LabelOptions& options) {
    return options.obsolete_models != nullptr ? options.obsolete_models->contains(model)
                                              : is_built_in_obsolete(model);
}

bool is_of_kubevirt(std::string_view key) noexcept {
    return key.find("kubevirt.io/") != std::string_view::npos;
}

Labels labeller_labels(const Profile& profile, const HostFacts& facts, const CpuMap* map,
                       const LabelOptions& options) {
    Labels labels;
    for (const auto& machine : profile.machines) {
        set(labels, label::machine_type, machine);
    }
    if (facts.tsc_hz) {
        set(labels, label::tsc_frequency, "", std::to_string(*facts.tsc_hz));
        set(labels, label::tsc_scalable, "", facts.tsc_scalable ? "true" : "false");
    }
    for (const auto& kind : profile.launch_security) {
        set(labels, label::launch_security, kind);
    }
    if (!has_cpu_labels(profile.arch)) {
        return labels;
    }
    if (profile.origin == ProfileOrigin::bare_cpu) {
        add_assumed_models(labels, map, options);
    } else {
        add_models(labels, profile, options);
    }
    const auto supported = supported_features(profile, map);
    if (supported.known()) {
        for (const auto& feature : supported.features) {
            set(labels, label::cpu_feature, feature);
        }
    } else if (profile.host_model) {
        for (const auto& feature : profile.host_model->require) {
            set(labels, label::cpu_feature, feature);
        }
    }
    if (profile.host_model && !profile.host_model->name.empty()) {
        add_host_model(labels, profile, *profile.host_model, options);
    }
    return labels;
}

std::vector<std::string> labels_not_derivable(const Profile& profile, const HostFacts& facts,
                                              const CpuMap* map) {
    std::vector<std::string> keys{std::string{label::realtime}};
    const bool x86 = profile.arch.empty() || profile.arch == "x86_64";
    if (x86) {
        keys.emplace_back(label::hyperv);
    }
    // Capabilities always list machine types: with those a host without a TSC counter has none.
    if (profile.machines.empty()) {
        keys.emplace_back(label::machine_type);
        if (x86 && !facts.tsc_hz) {
            keys.emplace_back(label::tsc_frequency);
            keys.emplace_back(label::tsc_scalable);
        }
    }
    if (has_cpu_labels(profile.arch) && !supported_features(profile, map).known()) {
        keys.emplace_back(label::cpu_feature);
    }
    if (profile.origin == ProfileOrigin::bare_cpu) {
        keys.emplace_back(label::cpu_model);
        if (map == nullptr) {
            keys.emplace_back(label::known_model);
        }
        if (profile.vendor.empty()) {
            keys.emplace_back(label::vendor);
        }
        for (const char* kind : {"s390-pv", "sev", "sev-es", "sev-snp", "tdx"}) {
            keys.push_back(std::string{label::launch_security} + kind);
        }
    }
    return make_feature_set(std::move(keys));
}

Labels standalone_labels(const Profile& profile, const HostFacts& facts, const CpuMap* map) {
    auto labels = labeller_labels(profile, facts, map);
    const bool bare = profile.origin == ProfileOrigin::bare_cpu && profile.arch.empty();
    if (auto arch = go_arch(bare ? "x86_64" : profile.arch); !arch.empty()) {
        set(labels, label::arch, "", std::move(arch));
    }
    set(labels, label::schedulable, "");
    return labels;
}

std::string pair_text(std::string_view key, std::string_view value) {
    std::string text{key};
    text += '=';
    text += value;
    return text;
}

std::string go_arch(std::string_view libvirt_arch) {
    if (libvirt_arch == "x86_64") {
        return "amd64";
    }
    if (libvirt_arch == "aarch64") {
        return "arm64";
    }
    return std::string{libvirt_arch};
}

}  // namespace scout::migration
