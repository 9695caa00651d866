// SPDX-License-Identifier: Apache-2.0
#include "migration/baseline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "migration/cpu_truth.h"

namespace scout::migration {
namespace {

/// What the search needs of one host.
struct Host {
    std::string name;
    std::string vendor;
    FeatureSet usable;  ///< names of models
    EffectiveSet supported;
};

FeatureSet usable_models(const Profile& profile, const EffectiveSet& supported, const CpuMap* map) {
    std::vector<std::string> names;
    for (const auto& model : profile.models) {
        if (model.usable == Usable::yes) {
            names.push_back(model.name);
        }
    }
    // A bare <cpu> lists no models: those of the map whose features it all has are taken as usable.
    if (profile.origin == ProfileOrigin::bare_cpu && map != nullptr && supported.known()) {
        for (const auto& [name, model] : map->models()) {
            if (subtract(model.features, supported.features).empty()) {
                names.push_back(name);
            }
        }
    }
    return make_feature_set(std::move(names));
}

Host host_of(const NamedProfile& named, const CpuMap* map) {
    auto supported = supported_features(named.profile, map);
    auto usable = usable_models(named.profile, supported, map);
    std::string vendor = named.profile.vendor;
    if (vendor.empty() && named.profile.arch == "s390x") {
        vendor = "IBM";
    }
    return {.name = named.name,
            .vendor = std::move(vendor),
            .usable = std::move(usable),
            .supported = std::move(supported)};
}

const FeatureSet* map_features(const CpuMap* map, std::string_view model) {
    const MapModel* found = map != nullptr ? map->find(model) : nullptr;
    return found != nullptr ? &found->features : nullptr;
}

/// Larger is better: known to the map, size, own vendor; then the lower name.
std::optional<std::string> best_model(const std::vector<std::string>& common,
                                      const std::string& vendor, const CpuMap* map) {
    const auto rank = [&vendor, map](const std::string& name) {
        const MapModel* model = map != nullptr ? map->find(name) : nullptr;
        const bool own = model != nullptr && model->vendor == vendor;
        return std::tuple{model != nullptr, model != nullptr ? model->features.size() : 0U, own};
    };
    const auto best =
        std::max_element(common.begin(), common.end(), [&rank](const auto& a, const auto& b) {
            return std::tuple{rank(a), b} < std::tuple{rank(b), a};
        });
    return best == common.end() ? std::nullopt : std::optional{*best};
}

/// Why the set can have no baseline at all; empty if it can.
std::string obstacle(const std::vector<NamedProfile>& profiles, const std::vector<Host>& hosts) {
    if (hosts.empty()) {
        return "no hosts were given";
    }
    for (const auto& named : profiles) {
        if (const auto fault = not_comparable(named.profile)) {
            return named.name + " cannot be compared: " + fault->text;
        }
        if (named.profile.arch != profiles.front().profile.arch) {
            return "architectures differ: " + profiles.front().name + " is " +
                   profiles.front().profile.arch + ", " + named.name + " is " + named.profile.arch;
        }
    }
    for (const auto& host : hosts) {
        if (host.vendor != hosts.front().vendor) {
            return "vendors differ: " + hosts.front().name + " is " + hosts.front().vendor + ", " +
                   host.name + " is " + host.vendor +
                   "; no model lets guests migrate between vendors, even where a name is common";
        }
    }
    return {};
}

std::vector<std::string> common_models(const std::vector<Host>& hosts) {
    if (hosts.empty()) {
        return {};
    }
    FeatureSet common = hosts.front().usable;
    for (const auto& host : hosts) {
        common = intersect(common, host.usable);
    }
    return common;
}

std::string choice_text(const std::string& model, std::size_t common, const CpuMap* map) {
    if (map_features(map, model) == nullptr) {
        return "usable on every host; no model that they share is known to the cpu_map, so sizes "
               "were not compared";
    }
    return "the largest of " + std::to_string(common) + " models that are usable on every host";
}

/// Features beyond the model that every host supports; vmx-* only where every host lists them.
FeatureSet custom_features(const std::vector<Host>& hosts, const FeatureSet& model) {
    FeatureSet common = hosts.front().supported.features;
    for (const auto& host : hosts) {
        common = intersect(common, host.supported.features);
    }
    // invtsc ties a guest to the TSC frequency of its host (the cpu_map: migratable='no').
    return subtract(subtract(common, model), {"invtsc"});
}

}  // namespace

Baseline find_baseline(const std::vector<NamedProfile>& profiles, const CpuMap* map) {
    std::vector<Host> hosts;
    hosts.reserve(profiles.size());
    for (const auto& named : profiles) {
        hosts.push_back(host_of(named, map));
    }
    Baseline out;
    out.common = common_models(hosts);
    out.reason = obstacle(profiles, hosts);
    if (!out.reason.empty()) {
        return out;
    }
    out.vendor = hosts.front().vendor;
    out.model = best_model(out.common, out.vendor, map);
    if (!out.model) {
        out.reason = "no named model is usable on every host";
        return out;
    }
    out.reason = choice_text(*out.model, out.common.size(), map);
    const FeatureSet* model = map_features(map, *out.model);
    bool complete = model != nullptr;
    for (const auto& host : hosts) {
        complete = complete && host.supported.known();
        if (model != nullptr && host.supported.known()) {
            out.losses.emplace(host.name, subtract(host.supported.features, *model));
        }
    }
    if (complete) {
        out.custom_features = custom_features(hosts, *model);
    } else {
        out.reason += "; the custom baseline needs a cpu_map that knows every model involved";
    }
    return out;
}

}  // namespace scout::migration
