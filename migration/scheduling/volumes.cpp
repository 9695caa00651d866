// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/volumes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace scout::migration::scheduling {
namespace {

/// Labels of a volume that nodes must have too, and what they are called now.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> zone_labels{{
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
}};
constexpr std::string_view between_zones = "__";

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\n\v\f\r";
    const auto begin = text.find_first_not_of(blank);
    const auto end = text.find_last_not_of(blank);
    return begin == std::string_view::npos ? std::string_view{}
                                           : text.substr(begin, end - begin + 1);
}

/// "a__b"; none: it says nothing, for one of them is empty.
std::optional<std::set<std::string_view>> zones_of(std::string_view text) {
    std::set<std::string_view> zones;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(between_zones, begin), text.size());
        const auto zone = trimmed(text.substr(begin, end - begin));
        if (zone.empty()) {
            return std::nullopt;
        }
        zones.insert(zone);
        begin = end + between_zones.size();
    }
    return zones;
}

bool has_zone_label(const Node& node) {
    return std::any_of(zone_labels.begin(), zone_labels.end(), [&node](const auto& each) {
        return node.labels.find(each.first) != node.labels.end();
    });
}

const std::string* label_of(const Node& node, std::string_view key, std::string_view newer) {
    auto found = node.labels.find(key);
    if (found == node.labels.end()) {
        found = node.labels.find(newer);
    }
    return found == node.labels.end() ? nullptr : &found->second;
}

}  // namespace

std::string claim_key(std::string_view space, std::string_view name) {
    return std::string{space} + "/" + std::string{name};
}

const Claim* Cluster::find_claim(std::string_view space, std::string_view name) const {
    if (!claims) {
        return nullptr;
    }
    const auto found = claims->find(claim_key(space, name));
    return found == claims->end() ? nullptr : &found->second;
}

PodVolumes::PodVolumes(const Cluster& cluster, const std::vector<PlacedNode>& nodes, const Pod& pod)
    : cluster_(cluster), pod_(pod) {
    for (const auto& claim : pod.claims) {
        if (cluster.claims) {
            take(claim, nodes);
        }
    }
}

void PodVolumes::take(const std::string& claim, const std::vector<PlacedNode>& nodes) {
    const auto* const found = cluster_.find_claim(pod_.space, claim);
    const auto no = [this, &claim](const std::string& why) {
        refuse(everywhere_, ReasonCode::volume, "the claim " + claim + " " + why, {claim});
    };
    if (found == nullptr) {
        no("is not there");
        return;
    }
    const auto& state = *found;
    if (state.lost) {
        no("is bound to a volume that is no more");
    } else if (state.deleting) {
        no("is being deleted");
    } else if (!state.bound) {
        leave_open(everywhere_, "the claim " + claim + " is not bound to a volume yet", {claim});
    } else {
        take_bound(claim, state);
    }
    if (state.one_pod && is_used(claim, nodes)) {
        no("is ReadWriteOncePod, and a pod has it");
    }
}

bool PodVolumes::is_used(const std::string& claim, const std::vector<PlacedNode>& nodes) const {
    const auto uses = [this, &claim](const Pod* other) {
        return other->space == pod_.space &&
               std::find(other->claims.begin(), other->claims.end(), claim) != other->claims.end();
    };
    return std::any_of(nodes.begin(), nodes.end(), [&uses](const PlacedNode& node) {
        return std::any_of(node.use.pods.begin(), node.use.pods.end(), uses);
    });
}

void PodVolumes::take_bound(const std::string& claim, const Claim& found) {
    if (!cluster_.volumes) {
        return;
    }
    const auto* const volume = find_volume(found.volume);
    if (volume == nullptr) {
        refuse(everywhere_, ReasonCode::volume,
               "the volume " + found.volume + " of the claim " + claim + " is not there", {claim});
        return;
    }
    if (volume->translated) {
        leave_open(everywhere_,
                   "the volume " + found.volume + " of the claim " + claim +
                       " is of a kind whose place CSI migration decides",
                   {claim});
    }
    bound_.push_back({claim, found.volume, volume});
}

void PodVolumes::judge_place(const Bound& bound, const Node& node, Findings& out) const {
    const auto no = [&bound, &out](const std::string& why, std::string key) {
        refuse(out, ReasonCode::volume,
               "the volume " + std::string{bound.name} + " of the claim " +
                   std::string{bound.claim} + " " + why,
               {std::move(key)});
    };
    const auto& terms = bound.volume->node_terms;
    // The scheduler gives it the labels of the node and not its name.
    if (terms && !matches(*terms, node.labels, {})) {
        no("cannot be reached from the node", std::string{bound.claim});
    }
    if (!has_zone_label(node)) {
        return;
    }
    for (const auto& [key, newer] : zone_labels) {
        const auto label = bound.volume->labels.find(key);
        const auto zones =
            label == bound.volume->labels.end() ? std::nullopt : zones_of(label->second);
        if (!zones) {
            continue;
        }
        const auto* const here = label_of(node, key, newer);
        if (here == nullptr || zones->find(*here) == zones->end()) {
            no("is in " + label->second + ", and the node " +
                   (here == nullptr ? "has no " + std::string{key} : "is in " + *here),
               std::string{key});
        }
    }
}

/// A claim without its volume counts as one that its class will make.
std::optional<std::pair<std::string_view, std::string>> PodVolumes::csi_volume(
    std::string_view space, std::string_view claim) const {
    const auto* const found = cluster_.find_claim(space, claim);
    if (found == nullptr || !cluster_.volumes) {
        return std::nullopt;
    }
    const auto* const volume = find_volume(found->volume);
    const std::string_view driver = volume != nullptr ? volume->driver : found->provisioner;
    auto handle = volume != nullptr ? volume->handle : "claim " + claim_key(space, claim);
    return driver.empty() || handle.empty() ? std::nullopt
                                            : std::optional{std::pair{driver, std::move(handle)}};
}

/// By the drivers' own names of volumes: one that a pod has there already takes no more room, but
/// one that is only attached does, beside the attachment.
void PodVolumes::judge_limits(const PlacedNode& placed, Findings& out) const {
    const auto& limits = placed.node->volume_limits;
    if (limits.empty() || pod_.claims.empty()) {
        return;
    }
    Handles there;
    for (const auto* pod : placed.use.pods) {
        add_handles(*pod, there);
    }
    Handles wanted;
    add_handles(pod_, wanted);
    const auto attached = only_attached(*placed.node, there);
    for (const auto& [driver, handles] : wanted) {
        const auto limit = limits.find(driver);
        const auto& have = there[driver];
        const auto more = std::count_if(handles.begin(), handles.end(), [&have](const auto& each) {
            return have.find(each) == have.end();
        });
        const auto left_behind = attached.find(driver);
        const auto now = static_cast<std::int64_t>(
            have.size() + (left_behind == attached.end() ? 0 : left_behind->second.size()));
        if (limit != limits.end() && more > 0 && now + more > limit->second) {
            refuse(out, ReasonCode::volume,
                   "the node takes " + std::to_string(limit->second) + " volumes of " +
                       std::string{driver} + ", and " + std::to_string(now) + " are there",
                   {std::string{driver}});
        }
    }
}

void PodVolumes::add_handles(const Pod& pod, Handles& handles) const {
    for (const auto& claim : pod.claims) {
        if (auto volume = csi_volume(pod.space, claim)) {
            handles[volume->first].insert(std::move(volume->second));
        }
    }
}

PodVolumes::Handles PodVolumes::only_attached(const Node& node, const Handles& of_pods) const {
    Handles out;
    for (const auto& name : node.attached) {
        const auto* const volume = find_volume(name);
        if (volume == nullptr || volume->driver.empty()) {
            continue;
        }
        const auto known = of_pods.find(volume->driver);
        if (known == of_pods.end() || known->second.find(volume->handle) == known->second.end()) {
            out[volume->driver].insert(volume->handle);
        }
    }
    return out;
}

const Volume* PodVolumes::find_volume(std::string_view name) const {
    if (!cluster_.volumes) {
        return nullptr;
    }
    const auto found = cluster_.volumes->find(name);
    return found == cluster_.volumes->end() ? nullptr : &found->second;
}

void PodVolumes::judge(const PlacedNode& node, Findings& out) const {
    for (const auto& each : everywhere_) {
        add(out, each);
    }
    for (const auto& bound : bound_) {
        judge_place(bound, *node.node, out);
    }
    judge_limits(node, out);
}

}  // namespace scout::migration::scheduling
