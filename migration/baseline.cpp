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

/// Models without a fixed set of features, which libvirt lists as usable like any other: QEMU makes
/// "max" and "host" of what the host can do and, on s390x, "qemu" of what the emulator's version
/// can. They are another CPU on every host.
bool differs_by_host(std::string_view model) {
    return model == "max" || model == "host" || model == "qemu";
}

FeatureSet usable_models(const Profile& profile, const EffectiveSet& supported, const CpuMap* map) {
    std::vector<std::string> names;
    for (const auto& model : profile.models) {
        if (model.usable == Usable::yes && !differs_by_host(model.name)) {
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
    return {.name = named.name,
            .vendor = cpu_vendor(offered_cpu(named.profile), map),
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

/// The first host that cannot be compared and why; empty if all can.
std::string not_comparable_host(const std::vector<NamedProfile>& profiles) {
    for (const auto& named : profiles) {
        if (const auto fault = not_comparable(named.profile)) {
            return named.name + " cannot be compared: " + fault->text;
        }
    }
    return {};
}

/// A bare `<cpu>` does not name its architecture; those that can be compared are x86.
std::string arch_of(const Profile& profile) {
    const bool bare = profile.origin == ProfileOrigin::bare_cpu && profile.arch.empty();
    return bare ? "x86_64" : profile.arch;
}

/// Why hosts that can be compared have no baseline together; empty if they may.
std::string difference(const std::vector<NamedProfile>& profiles, const std::vector<Host>& hosts) {
    for (const auto& named : profiles) {
        const auto& first = profiles.front();
        if (arch_of(named.profile) != arch_of(first.profile)) {
            return "architectures differ: " + first.name + " is " + arch_of(first.profile) + ", " +
                   named.name + " is " + arch_of(named.profile);
        }
    }
    for (const auto& host : hosts) {
        const auto& first = hosts.front();
        if (first.vendor.empty() || host.vendor.empty()) {
            return "the documents do not name the CPU vendor of every host: " + first.name +
                   " is of " + or_unstated(first.vendor) + ", " + host.name + " of " +
                   or_unstated(host.vendor) + "; no model lets guests migrate between vendors";
        }
        if (host.vendor != first.vendor) {
            return "vendors differ: " + first.name + " is " + first.vendor + ", " + host.name +
                   " is " + host.vendor +
                   "; no model lets guests migrate between vendors, even where a name is common";
        }
    }
    return {};
}

std::vector<std::string> common_models(const std::vector<Host>& hosts) {
    FeatureSet common = hosts.front().usable;
    for (const auto& host : hosts) {
        common = intersect(common, host.usable);
    }
    return common;
}

std::string choice_text(const std::string& model, const FeatureSet& common, const CpuMap* map) {
    if (map == nullptr) {
        return "usable on every host; there is no cpu_map, so the models that they share were not "
               "ranked by size";
    }
    FeatureSet unranked;
    for (const auto& name : common) {
        if (map->find(name) == nullptr) {
            unranked.push_back(name);
        }
    }
    if (map->find(model) == nullptr) {
        return "usable on every host; the cpu_map knows no model that they share, so those were "
               "not ranked by size";
    }
    const auto ranked = common.size() - unranked.size();
    auto text = ranked == 1 ? std::string("the only ranked model that is usable on every host")
                            : "the largest of " + std::to_string(ranked) +
                                  " models that are usable on every host";
    if (!unranked.empty()) {
        text += "; not ranked, for the cpu_map does not know them: " + join(unranked);
    }
    return text;
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

/// What the chosen model costs each host, and what all have beyond it.
void weigh(const std::vector<Host>& hosts, const std::string& chosen, const CpuMap* map,
           Baseline& out) {
    const FeatureSet* model = map_features(map, chosen);
    bool complete = true;
    for (const auto& host : hosts) {
        Loss loss;
        if (!host.supported.known()) {
            loss.why = host.supported.why;
        } else if (model == nullptr) {
            loss.why = map == nullptr ? "there is no cpu_map to expand " + chosen + " with"
                                      : "the cpu_map " + map->name() + " does not know " + chosen;
        } else {
            loss.features = subtract(host.supported.features, *model);
        }
        complete = complete && loss.features.has_value();
        out.losses.emplace(host.name, std::move(loss));
    }
    if (complete) {
        out.custom_features = custom_features(hosts, *model);
    } else {
        out.reason +=
            "; there is no custom baseline, for a set of features is not known (see the "
            "losses)";
    }
}

}  // namespace

Baseline find_baseline(const std::vector<NamedProfile>& profiles, const CpuMap* map) {
    Baseline out;
    out.assumed = std::any_of(profiles.begin(), profiles.end(), [](const auto& named) {
        return named.profile.origin == ProfileOrigin::bare_cpu;
    });
    out.reason = profiles.empty() ? "no hosts were given" : not_comparable_host(profiles);
    if (!out.reason.empty()) {
        return out;
    }
    std::vector<Host> hosts;
    hosts.reserve(profiles.size());
    for (const auto& named : profiles) {
        hosts.push_back(host_of(named, map));
    }
    out.map = map != nullptr ? map->name() : std::string{};
    out.common = common_models(hosts);
    out.reason = difference(profiles, hosts);
    if (!out.reason.empty()) {
        return out;
    }
    out.vendor = hosts.front().vendor;
    out.model = best_model(out.common, out.vendor, map);
    if (!out.model) {
        out.reason = "no named model is usable on every host";
        return out;
    }
    out.reason = choice_text(*out.model, out.common, map);
    weigh(hosts, *out.model, map, out);
    return out;
}

}  // namespace scout::migration
