// SPDX-License-Identifier: Apache-2.0
#include "cluster/label_plan.h"

#include <algorithm>
#include <stdexcept>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cluster/levels.h"
#include "cluster/node_profile.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

/// A loop that wakes late may catch up for so long while it fills; otherwise the rate is strict.
constexpr milliseconds catch_up{50};

json::object entry(json::string_view key, json::value value) {
    json::object out;
    out[key] = std::move(value);
    return out;
}

void put(json::object& out, std::string_view key, const LabelValue& value) {
    if (value) {
        out[key] = json::string_view{*value};
    }
}

LabelValue value_of(std::optional<std::string_view> text) {
    return text && !text->empty() ? LabelValue{*text} : std::nullopt;
}

}  // namespace

NodeMarks carried_marks(const kube::Node& node) {
    const auto level = node.labels.find(level_label);
    return {.level = level ? LabelValue{*level} : std::nullopt,
            .profile = value_of(named_profile(node)),
            .former_profile = value_of(named_profile(node, former_profile_annotation))};
}

NodeMarks wanted_marks(const NodeMarks& carried, std::optional<unsigned> level,
                       std::string_view reported_profile) {
    auto wanted = carried;
    wanted.level = level ? LabelValue{std::to_string(*level)} : std::nullopt;
    if (!reported_profile.empty() && carried.profile != reported_profile) {
        wanted.profile = reported_profile;
        wanted.former_profile = carried.profile ? carried.profile : carried.former_profile;
    }
    return wanted;
}

std::string apply_body(const NodeName& node, const NodeMarks& marks) {
    json::object metadata = entry("name", json::string_view{node.name});
    metadata["uid"] = json::string_view{node.uid};
    json::object annotations;
    put(annotations, profile_annotation, marks.profile);
    put(annotations, former_profile_annotation, marks.former_profile);
    if (!annotations.empty()) {
        metadata["annotations"] = std::move(annotations);
    }
    if (marks.level) {
        metadata["labels"] = entry(level_label, json::string_view{*marks.level});
    }
    json::object object = entry("apiVersion", "v1");
    object["kind"] = "Node";
    object["metadata"] = std::move(metadata);
    return json::serialize(object);
}

std::string removal_body(const NodeName& node) {
    json::object metadata = entry("uid", json::string_view{node.uid});
    metadata["labels"] = entry(level_label, nullptr);
    return json::serialize(entry("metadata", std::move(metadata)));
}

LabelPlan::LabelPlan(LabelPlanRules rules, std::uint64_t seed, SteadyTime now)
    : rules_(rules), random_(seed), start_(now), slot_(now) {}

void LabelPlan::set(const NodeName& named, NodeMarks wanted, NodeMarks carried, SteadyTime now) {
    note_first_fill(now);
    auto place = nodes_.find(named.name);
    if (place == nodes_.end()) {
        if (wanted == carried) {
            return;
        }
        place = nodes_.try_emplace(named.name).first;
        place->second.name = place->first;
        place->second.changed = now;
        place->second.of_first_fill = now - start_ < rules_.first_fill_least;
        untried_ += place->second.of_first_fill ? 1U : 0U;
    }
    auto& node = place->second;
    node.uid = named.uid;
    const bool another = node.wanted != wanted;
    node.gone = false;
    node.wanted = std::move(wanted);
    node.carried = std::move(carried);
    if (node.phase == Phase::under_way) {
        return;
    }
    if (node.wanted == node.carried) {
        drop(place);
    } else if (another && node.phase == Phase::accepted) {
        node.changed = now;
        settle(node, now);
    } else if (node.phase == Phase::settling && (another || !node.due)) {
        settle(node, now);
    }
}

void LabelPlan::forget(std::string_view name) {
    const auto place = nodes_.find(name);
    if (place == nodes_.end()) {
        return;
    }
    if (place->second.phase == Phase::under_way) {
        place->second.gone = true;
    } else {
        drop(place);
    }
}

std::vector<LabelPlan::Write> LabelPlan::take(SteadyTime now) {
    note_first_fill(now);
    std::vector<Write> writes;
    while (!due_.empty() && due_.begin()->first <= now && slot_ <= now &&
           under_way_ < rules_.under_way) {
        writes.push_back(begin(*due_.begin()->second));
        take_slot(now);
    }
    return writes;
}

void LabelPlan::done(std::string_view name, bool accepted, SteadyTime now) {
    const auto place = nodes_.find(name);
    if (place == nodes_.end() || place->second.phase != Phase::under_way) {
        throw std::logic_error("label plan: a write ended that did not begin");
    }
    auto& node = place->second;
    --under_way_;
    if (node.gone || node.wanted == node.carried) {
        drop(place);
    } else if (!accepted) {
        node.phase = Phase::failed;
        plan(node, now + retry_delay(node));
        ++node.tries;
    } else if (node.wanted != node.written) {
        node.tries = 0;
        node.changed = now;
        settle(node, now);
    } else {
        node.phase = Phase::accepted;
        plan(node, now + std::max(rules_.shown_after, retry_delay(node)));
        ++node.tries;
    }
}

std::optional<SteadyTime> LabelPlan::next() const {
    if (due_.empty() || under_way_ >= rules_.under_way) {
        return std::nullopt;
    }
    return std::max(due_.begin()->first, slot_);
}

void LabelPlan::plan(Node& node, std::optional<SteadyTime> due) {
    if (node.due) {
        due_.erase({*node.due, &node});
    }
    node.due = due;
    if (due) {
        due_.emplace(*due, &node);
    }
}

void LabelPlan::settle(Node& node, SteadyTime now) {
    node.phase = Phase::settling;
    plan(node, std::min(now + rules_.quiet, node.changed + rules_.longest));
}

void LabelPlan::drop(Nodes::iterator node) {
    plan(node->second, std::nullopt);
    untried_ -= node->second.of_first_fill ? 1U : 0U;
    nodes_.erase(node);
}

/// Twice as long after each try, with jitter.
milliseconds LabelPlan::retry_delay(const Node& node) {
    constexpr unsigned most_doublings = 16;
    const auto wait = std::min(rules_.retry.most,
                               rules_.retry.least * (1U << std::min(node.tries, most_doublings)));
    return jittered(wait, 0.25, random_);
}

void LabelPlan::take_slot(SteadyTime now) {
    const double per_second = filled_ ? rules_.per_second : rules_.first_fill_per_second;
    const double farther = std::uniform_real_distribution{1.0, 1.0 + rules_.jitter}(random_);
    const auto apart = std::chrono::duration<double>{farther / per_second};
    slot_ = std::max(slot_, filled_ ? now : now - catch_up) +
            std::chrono::duration_cast<SteadyTime::duration>(apart);
}

void LabelPlan::note_first_fill(SteadyTime now) {
    filled_ = filled_ || (untried_ == 0 && now - start_ >= rules_.first_fill_least);
}

LabelPlan::Write LabelPlan::begin(Node& node) {
    const bool removes = !node.wanted.level && node.carried.level;
    node.phase = Phase::under_way;
    node.written = node.wanted;
    if (removes) {
        node.written.profile = node.carried.profile;  // annotations come with the next write
        node.written.former_profile = node.carried.former_profile;
    }
    untried_ -= node.of_first_fill ? 1U : 0U;
    node.of_first_fill = false;
    plan(node, std::nullopt);
    ++under_way_;
    const NodeName named{.name = std::string{node.name}, .uid = node.uid};
    return {.node = named.name,
            .merge = removes,
            .body = removes ? removal_body(named) : apply_body(named, node.wanted)};
}

}  // namespace scout::cluster
