// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "migration/cpu_map.h"
#include "migration/profile.h"

/// A CPU for a whole set of hosts. Pure; any thread; nothing here fails: where there is no baseline
/// its reason says why.
namespace scout::migration {

/// A profile with the name that answers call it by (path or node).
struct NamedProfile {
    std::string name;
    const Profile& profile;
};

/// What one host gives up for a baseline.
struct Loss {
    std::optional<FeatureSet> features;  ///< that it has and the model lacks; none: not known
    std::string why;                     ///< why not known; empty otherwise

    friend bool operator==(const Loss&, const Loss&) = default;
};

/// A CPU that every host of a set can run (case 13).
struct Baseline {
    std::optional<std::string> model;  ///< best named model usable on all; none: see reason
    std::string vendor;                ///< the one vendor of the set; empty if there is none
    std::string reason;                ///< why there is no model, or how the model was chosen
    std::vector<std::string> common;   ///< all named models usable on every host, sorted; empty if
                                       ///< some host cannot be compared
    std::map<std::string, Loss> losses;  ///< every host; empty if there is no model
    /// Features beyond `model` that all hosts support: the *custom* baseline, as require features
    /// over the model. Of vmx-* only those that every host lists; without invtsc, which the cpu_map
    /// marks migratable='no': it ties a guest to the TSC of its host. None if there is no model, or
    /// the set of some host or the model is not known.
    std::optional<FeatureSet> custom_features;
    std::string map;       ///< cpu_map that was used; empty if there was none or nothing to compare
    bool assumed = false;  ///< some host is a bare `<cpu>`: its own set stands for what it supports
};

/// Best = the largest expanded set among the models usable on all, one vendor; models that the map
/// does not know rank last; on a tie the set's own vendor, then the lower name. Never a model that
/// is not usable somewhere, nor one that differs from host to host ("max", "host", s390x's "qemu"),
/// and none where a vendor is not known (case 13). Hosts that cannot be
/// compared make the model none, with the reason.
[[nodiscard]] Baseline find_baseline(const std::vector<NamedProfile>& hosts, const CpuMap* map);

}  // namespace scout::migration
