// SPDX-License-Identifier: Apache-2.0
#include "migration/frozen_selectors.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace scout::migration {
namespace {

struct Selector {
    std::string key;
    std::string value;
    std::string name;  ///< of the model or feature
    bool feature = false;
};

/// Models first, each kind sorted. KubeVirt looks for keys that *contain* the prefixes.
std::vector<Selector> cpu_selectors(const Labels& selectors) {
    std::vector<Selector> found;
    for (const auto prefix : {label::known_model, label::cpu_feature}) {
        for (const auto& [key, value] : selectors) {
            if (const auto at = key.find(prefix); at != std::string::npos) {
                found.push_back({.key = key,
                                 .value = value,
                                 .name = key.substr(at + prefix.size()),
                                 .feature = prefix == label::cpu_feature});
            }
        }
    }
    return found;
}

bool carries(const Labels& labels, const Selector& selector) {
    const auto found = labels.find(selector.key);
    return found != labels.end() && found->second == selector.value;
}

bool carries_all(const Labels& labels, const std::vector<Selector>& selectors) {
    return std::all_of(selectors.begin(), selectors.end(),
                       [&labels](const Selector& each) { return carries(labels, each); });
}

/// Sorts what no node of `others` carries into stale and lacking; `source` may be null.
void find_causes(const std::vector<Selector>& selectors, const Labels* source,
                 const std::vector<LabelledNode>& others, const FrozenGuest& guest,
                 FrozenSelectors& out) {
    for (const auto& selector : selectors) {
        if (source != nullptr && !carries(*source, selector)) {
            out.stale.push_back(selector.name);
            if (selector.feature && guest.live_features &&
                contains(*guest.live_features, selector.name)) {
                out.still_required.push_back(selector.name);
            }
        } else if (std::none_of(others.begin(), others.end(), [&selector](const auto& node) {
                       return carries(node.labels, selector);
                   })) {
            out.lacking.push_back(selector.name);
        }
    }
}

/// What becomes of a guest whose stale selectors are dropped.
std::string dropping_text(const std::vector<Selector>& selectors, const FrozenGuest& guest,
                          const FrozenSelectors& found) {
    if (!found.still_required.empty()) {
        return "; dropping the selectors alone does not help: the live domain still requires " +
               join(found.still_required) + ", so the guest must be restarted";
    }
    const bool stale_feature =
        std::any_of(selectors.begin(), selectors.end(), [&found](const Selector& each) {
            return each.feature && std::find(found.stale.begin(), found.stale.end(), each.name) !=
                                       found.stale.end();
        });
    if (stale_feature && !guest.live_features) {
        return "; dropping the selectors alone does not help if the live domain XML still "
               "requires the features";
    }
    return {};
}

std::string no_node_text(const std::vector<Selector>& selectors, const FrozenGuest& guest,
                         const FrozenSelectors& found) {
    const auto& where = guest.node;
    const auto lacking = found.lacking.empty() ? "no other node has all that is asked for together"
                                               : "no other node has " + join(found.lacking);
    switch (found.state) {
        case FrozenState::stale:
            return "no node fits: stale selectors " + join(found.stale) + " (" + where +
                   ", where the guest runs, has no such labels any more)" +
                   (found.lacking.empty() ? "" : "; besides, " + lacking) +
                   dropping_text(selectors, guest, found);
        case FrozenState::lacking:
            return "no node fits: the hardware of the others lacks it: " + lacking + ", while " +
                   where + ", where the guest runs, carries every label";
        case FrozenState::unknown:
            return "no node fits: " + lacking +
                   "; whether the selectors are stale cannot be told, " + "for the labels of " +
                   where + ", where the guest runs, are not known";
        case FrozenState::not_frozen:
        case FrozenState::fits:
            break;
    }
    return {};
}

}  // namespace

FrozenSelectors judge_frozen_selectors(const FrozenGuest& guest,
                                       const std::vector<LabelledNode>& nodes) {
    FrozenSelectors out;
    const auto selectors = cpu_selectors(guest.selectors);
    if (selectors.empty()) {
        out.text =
            "the pod has no CPU selectors: the next target is asked for by the labels that " +
            guest.node + " has then";
        return out;
    }
    const Labels* source = nullptr;
    std::vector<LabelledNode> others;
    for (const auto& node : nodes) {
        if (node.name == guest.node) {
            source = &node.labels;
            continue;
        }
        others.push_back(node);
        if (carries_all(node.labels, selectors)) {
            out.fitting.push_back(node.name);
        }
    }
    if (!out.fitting.empty()) {
        out.state = FrozenState::fits;
        out.text = "the frozen selectors fit " + join(out.fitting);
        return out;
    }
    find_causes(selectors, source, others, guest, out);
    out.state = source == nullptr    ? FrozenState::unknown
                : !out.stale.empty() ? FrozenState::stale
                                     : FrozenState::lacking;
    out.text = no_node_text(selectors, guest, out);
    return out;
}

}  // namespace scout::migration
