// SPDX-License-Identifier: Apache-2.0
#include "cluster/level_keeper.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>

#include "base/number.h"
#include "cluster/node_profile.h"

namespace scout::cluster {
namespace {

std::vector<migration::LabelView> views(const kube::Labels& labels) {
    std::vector<migration::LabelView> out;
    out.reserve(labels.size());
    for (const auto& [key, value] : labels) {
        out.emplace_back(key.view(), value.view());
    }
    return out;
}

}  // namespace

bool LevelLabel::in_step() const {
    return level ? carried == std::to_string(*level) : !carried;
}

LevelKeeper::LevelKeeper(LevelOptions options, std::vector<kube::KubeVirt> kubevirts)
    : options_(std::move(options)), kubevirts_(std::move(kubevirts)) {
    options_.counting = counting_rules(options_, kubevirts_);
}

void LevelKeeper::start_over(LevelOptions options, std::vector<kube::KubeVirt> kubevirts) {
    for (auto& [name, node] : nodes_) {
        stop_counting(node);
    }
    groups_.clear();
    options_ = std::move(options);
    kubevirts_ = std::move(kubevirts);
    options_.counting = counting_rules(options_, kubevirts_);
}

void LevelKeeper::put(const kube::Node& object, WallTime now, const CpuProfile* named) {
    const auto [place, fresh] = nodes_.try_emplace(object.meta.name);
    auto& node = place->second;
    node.name = place->first;
    if (!object.unschedulable) {
        node.cordon_seen.reset();
    } else if (!fresh && !node.cordoned) {
        node.cordon_seen = now;
    }
    node.cordoned = object.unschedulable;
    const auto carried = object.labels.find(level_label);
    node.carried = carried ? std::optional<std::string>{*carried} : std::nullopt;
    const auto state = node_state(object, now, options_.counting, node.cordon_seen);
    const auto chosen = node_profile(object, state.stock, named);
    note_profile(node, chosen.object != nullptr, !chosen.why_labels.empty());
    // The new seat is taken before the old one is left: most changes lead to the same class, which
    // must not vanish in between.
    const auto before = std::exchange(node.seat, Seat{});
    if (state.not_counted.empty()) {
        sit_down(node, object, state.stock.arch, chosen.object);
    }
    leave(before);
    expect(node, state.counts_until);
    touched_.insert(&node);
}

void LevelKeeper::remove(std::string_view name) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) {
        return;
    }
    stop_counting(found->second);
    note_profile(found->second, false, false);
    touched_.erase(&found->second);
    nodes_.erase(found);
}

void LevelKeeper::pass(WallTime now) {
    while (!graces_.empty() && graces_.begin()->first <= now) {
        stop_counting(*graces_.begin()->second);
    }
}

std::optional<WallTime> LevelKeeper::next() const {
    return graces_.empty() ? std::nullopt : std::optional{graces_.begin()->first};
}

std::optional<LevelLabel> LevelKeeper::find(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : std::optional{label_of(found->second)};
}

std::vector<LevelKeeper::Change> LevelKeeper::take_changes() {
    for (auto& [arch, group] : groups_) {
        if (std::exchange(group.changed, false)) {
            find_changed_levels(group);
        }
    }
    std::erase_if(groups_, [](const auto& entry) { return entry.second.classes.empty(); });
    std::vector<Change> changes;
    for (auto* node : touched_) {
        auto label = label_of(*node);
        const bool was_in_step = node->told.in_step();
        const bool told = label == node->told || (was_in_step && label.in_step());
        node->told = label;
        if (!told) {
            changes.push_back({std::string{node->name}, std::move(label)});
        }
    }
    touched_.clear();
    return changes;
}

LevelStanding LevelKeeper::standing(std::string_view arch) const {
    LevelStanding best;
    for (const auto& [name, group] : groups_) {
        if (arch.empty() || arch == name) {
            const auto found = standing(group);
            if (std::tie(found.best, found.counted) > std::tie(best.best, best.counted)) {
                best = found;
            }
        }
    }
    return best;
}

LevelStanding LevelKeeper::standing(const Group& group) const {
    LevelStanding standing;
    for (const auto& [number, members] : group.classes) {
        standing.counted += members.nodes.size();
        const auto level = level_of(*members.nodes.front());
        if (level > standing.best) {
            standing.best = level;
            standing.with_best = 0;
        }
        standing.with_best += level == standing.best ? members.nodes.size() : 0;
    }
    return standing;
}

LevelKeeper::Group& LevelKeeper::group_of(const std::string& arch) {
    return groups_
        .try_emplace(arch, migration::Matrix::Options{.machine_type = machine_type_for(
                                                          arch, options_, kubevirts_),
                                                      .map = options_.map})
        .first->second;
}

void LevelKeeper::note_profile(Node& node, bool used, bool unused) {
    const auto recount = [](std::size_t& count, bool& is, bool now) {
        count -= is ? 1 : 0;
        count += now ? 1 : 0;
        is = now;
    };
    recount(by_profile_, node.by_profile, used);
    recount(profile_unused_, node.profile_unused, unused);
}

void LevelKeeper::sit_down(Node& node, const kube::Node& object, const std::string& arch,
                           const CpuProfile* profile) {
    auto& group = group_of(arch);
    const auto place = profile == nullptr ? group.matrix.add(views(object.labels), nullptr, {})
                                          : group.matrix.add(views(object.labels),
                                                             &profile->profile, profile->meta.name,
                                                             migration::Matrix::LabelsFrom::node);
    auto& mates = group.classes[group.matrix.class_of(place)].nodes;
    node.seat = {.group = &group, .place = place, .index = mates.size()};
    mates.push_back(&node);
    group.changed = true;
}

void LevelKeeper::leave(const Seat& seat) {
    if (seat.group == nullptr) {
        return;
    }
    auto& [matrix, classes, changed] = *seat.group;
    const auto own = classes.find(matrix.class_of(seat.place));
    auto& mates = own->second.nodes;
    if (seat.index + 1 < mates.size()) {
        mates[seat.index] = mates.back();
        mates[seat.index]->seat.index = seat.index;
    }
    mates.pop_back();
    if (mates.empty()) {
        classes.erase(own);
    }
    matrix.remove(seat.place);
    changed = true;
}

void LevelKeeper::stop_counting(Node& node) {
    leave(std::exchange(node.seat, Seat{}));
    expect(node, std::nullopt);
    touched_.insert(&node);
}

void LevelKeeper::expect(Node& node, std::optional<WallTime> counts_until) {
    if (node.counts_until) {
        graces_.erase({*node.counts_until, &node});
    }
    node.counts_until = counts_until;
    if (counts_until) {
        graces_.emplace(*counts_until, &node);
    }
}

bool LevelKeeper::is_carried(std::string_view arch, unsigned level) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [this, arch, level](const auto& entry) {
        const auto& [name, node] = entry;
        const auto* group = node.seat.group;
        if (group == nullptr || !node.carried) {
            return false;
        }
        const auto of = groups_.find(arch);
        const auto carried = whole_number(*node.carried);
        return carried && *carried >= level &&
               (arch.empty() || (of != groups_.end() && group == &of->second));
    });
}

/// All nodes of a class have one level.
void LevelKeeper::find_changed_levels(Group& group) {
    for (auto& [number, members] : group.classes) {
        const auto level = level_of(*members.nodes.front());
        if (std::exchange(members.level, level) != level) {
            touched_.insert(members.nodes.begin(), members.nodes.end());
        }
    }
}

unsigned LevelKeeper::level_of(const Node& node) const {
    const auto& matrix = node.seat.group->matrix;
    return migration::migratability_level(matrix.destinations(node.seat.place, options_.layer),
                                          static_cast<std::uint32_t>(matrix.nodes()));
}

LevelLabel LevelKeeper::label_of(const Node& node) const {
    return {.level = node.seat.group != nullptr ? std::optional{level_of(node)} : std::nullopt,
            .carried = node.carried};
}

}  // namespace scout::cluster
