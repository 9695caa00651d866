// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement_rules.h"

namespace scout::cluster {
namespace {

constexpr std::string_view require_name = "requireHostModelMigratabilityLevel";
/// As the proposal spells it, and as a dictionary does.
constexpr std::string_view prefered_name = "preferedHostModelMigratabilityLevel";
constexpr std::string_view preferred_name = "preferredHostModelMigratabilityLevel";

/// A demand that is made; without what it asks for it is at fault.
template <class T>
struct Stated {
    std::optional<T> demand;
};

/// Reads the demands of one object.
class Reader {
public:
    Reader(const kube::LevelDemands& demands, DemandSource source, std::vector<std::string>& faults)
        : demands_(demands), source_(source), faults_(faults) {}

    [[nodiscard]] std::optional<Stated<LevelRequirement>> required() {
        if (!demands_.required) {
            return std::nullopt;
        }
        const auto level = in_range(*demands_.required, 0, require_name);
        return level ? Stated<LevelRequirement>{{{.level = *level, .source = source_}}}
                     : Stated<LevelRequirement>{};
    }

    [[nodiscard]] std::optional<Stated<LevelPreference>> preferred() {
        if (demands_.prefered && demands_.preferred) {
            fault(std::string{prefered_name} + " and " + std::string{preferred_name},
                  "expected one of the two spellings, found both");
            return Stated<LevelPreference>{};
        }
        if (demands_.prefered) {
            return preferred(*demands_.prefered, prefered_name);
        }
        return demands_.preferred ? std::optional{preferred(*demands_.preferred, preferred_name)}
                                  : std::nullopt;
    }

private:
    [[nodiscard]] Stated<LevelPreference> preferred(const kube::PreferredLevel& stated,
                                                    std::string_view name) {
        const std::string field{name};
        if (!stated.level) {
            fault(field + ".level", "expected 0 to 100, found nothing");
            return {};
        }
        const auto level = in_range(*stated.level, 0, field + ".level");
        const auto weight = in_range(stated.weight.value_or(1), 1, field + ".weight");
        if (!level || !weight) {
            return {};
        }
        return {{{.level = *level, .weight = *weight, .source = source_}}};
    }

    [[nodiscard]] std::optional<unsigned> in_range(std::int64_t value, std::int64_t least,
                                                   std::string_view field) {
        if (value >= least && value <= 100) {
            return static_cast<unsigned>(value);
        }
        fault(field,
              "expected " + std::to_string(least) + " to 100, found " + std::to_string(value));
        return std::nullopt;
    }

    void fault(std::string_view field, const std::string& what) {
        faults_.push_back(std::string{field} + " of " + std::string{to_string(source_)} + ": " +
                          what + "; it is not applied");
    }

    const kube::LevelDemands& demands_;
    DemandSource source_;
    std::vector<std::string>& faults_;
};

template <class T>
bool ask_alike(const std::optional<T>& a, const std::optional<T>& b) {
    if (!a || !b) {
        return !a && !b;
    }
    auto of_the_other = *a;
    of_the_other.source = b->source;
    return of_the_other == *b;
}

template <class T>
std::optional<T> in_force(const std::optional<Stated<T>>& kubevirt,
                          const std::optional<Stated<T>>& scout_config, std::string_view name,
                          std::vector<std::string>& faults) {
    if (kubevirt && scout_config && !ask_alike(kubevirt->demand, scout_config->demand)) {
        faults.push_back(std::string{name} +
                         " differs between the KubeVirt object and ScoutConfig; the KubeVirt "
                         "object's counts, make them equal or leave one out");
    }
    const auto& stated = kubevirt ? kubevirt : scout_config;
    return stated ? stated->demand : std::nullopt;
}

}  // namespace

std::string_view to_string(DemandSource source) noexcept {
    switch (source) {
        case DemandSource::kubevirt:
            return "the KubeVirt object";
        case DemandSource::scout_config:
            return "ScoutConfig";
    }
    return "nobody";
}

PlacementRules placement_rules(const kube::LevelDemands* kubevirt,
                               const kube::LevelDemands* scout_config) {
    const kube::LevelDemands none;
    PlacementRules rules;
    Reader first{kubevirt == nullptr ? none : *kubevirt, DemandSource::kubevirt, rules.faults};
    Reader second{scout_config == nullptr ? none : *scout_config, DemandSource::scout_config,
                  rules.faults};
    const auto required = first.required();
    const auto preferred = first.preferred();
    const auto required_by_us = second.required();
    const auto preferred_by_us = second.preferred();
    rules.required = in_force(required, required_by_us, require_name, rules.faults);
    rules.preferred = in_force(preferred, preferred_by_us, prefered_name, rules.faults);
    return rules;
}

}  // namespace scout::cluster
