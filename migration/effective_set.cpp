// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>
#include <string_view>

#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

/// What every model of the architecture has; an unexpanded document never repeats its model.
std::span<const std::string_view> always_present(std::string_view arch) {
    static constexpr std::array<std::string_view, 3> x86{"cx8", "fpu", "mmx"};
    static constexpr std::array<std::string_view, 2> s390x{"esan3", "zarch"};
    if (arch == "s390x") {
        return s390x;
    }
    return x86;
}

EffectiveSet not_known(std::string why, std::string key, const CpuMap* map) {
    EffectiveSet set;
    set.why = std::move(why);
    set.keys = {std::move(key)};
    set.map = map != nullptr ? map->name() : std::string{};
    return set;
}

/// A document that lists some of what every CPU has and not all of its own model is unexpanded.
bool lists_all_of(const GuestCpu& guest, const MapModel& model) {
    return subtract(subtract(model.features, guest.require), guest.disable).empty();
}

std::string unknown_model(const std::string& arch, const std::string& model, const CpuMap* map) {
    if (arch == "s390x") {  // QEMU expands its models; libvirt's cpu_map has none of them
        return "the document does not list every feature of model " + model +
               ", and libvirt has no cpu_map for s390x; use the output of 'virsh domcapabilities "
               "--expand-cpu-features'";
    }
    if (map == nullptr) {
        return "the document does not list every feature of model " + model +
               " and no cpu_map is at hand; name one with --cpu-map";
    }
    return "the cpu_map " + map->name() + " does not know model " + model +
           "; use the cpu_map of the libvirt that wrote the document (--cpu-map)";
}

}  // namespace

bool is_expanded(const std::string& arch, const FeatureSet& require, const FeatureSet& disable) {
    for (const auto name : always_present(arch)) {
        if (!contains(require, name) && !contains(disable, name)) {
            return false;
        }
    }
    return true;
}

EffectiveSet effective_features(const GuestCpu& guest, const CpuMap* map) {
    if (guest.model.empty()) {
        return not_known("no CPU model is named", "model", nullptr);
    }
    EffectiveSet set;
    set.reports_vmx = lists_vmx_details(guest.require) || lists_vmx_details(guest.disable);
    const MapModel* model = map != nullptr ? map->find(guest.model) : nullptr;
    if (is_expanded(guest.arch, guest.require, guest.disable) &&
        (model == nullptr || lists_all_of(guest, *model))) {
        set.origin = SetOrigin::expanded;
        set.features = subtract(guest.require, guest.disable);
        return set;
    }
    if (model == nullptr) {
        return not_known(unknown_model(guest.arch, guest.model, map), guest.model, map);
    }
    set.origin = SetOrigin::by_map;
    set.map = map->name();
    set.features = subtract(unite(model->features, guest.require), guest.disable);
    return set;
}

EffectiveSet supported_features(const Profile& profile, const CpuMap* map) {
    if (profile.supported_listed) {
        EffectiveSet set;
        set.origin = SetOrigin::listed;
        set.features = profile.supported;
        set.reports_vmx = lists_vmx_details(profile.supported);
        return set;
    }
    if (!profile.host_model) {
        return not_known("libvirt offers no host-model there", "host-model", nullptr);
    }
    auto set = effective_features(offered_cpu(profile), map);
    if (set.known() && profile.origin == ProfileOrigin::bare_cpu) {
        set.origin = SetOrigin::assumed;
    }
    return set;
}

}  // namespace scout::migration
