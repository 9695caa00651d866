// SPDX-License-Identifier: Apache-2.0
// What evacuations tell the leader, and what they hear from it.
#include <utility>

#include <spdlog/spdlog.h>

#include "agent/evacuations.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

/// What is told of members is told no more often, unless one came or went.
constexpr std::chrono::milliseconds tell_pause{500};

}  // namespace

void Evacuations::heard_leader() {
    const auto now = clock_.steady();
    heard_ = now;
    for (auto& [pod, each] : followed_) {
        each.machine().heard_leader(now);
    }
    if (!std::exchange(there_, true)) {
        // Another stream knows nothing of what was told on the one before.
        members_changed_ = true;
        changed_();
    }
}

void Evacuations::set_hook_served(bool served) {
    if (std::exchange(hook_served_, served) != served) {
        members_changed_ = true;
        changed_();
    }
}

void Evacuations::lost_leader() {
    if (!std::exchange(there_, false)) {
        return;
    }
    const auto now = clock_.steady();
    for (auto& [pod, each] : followed_) {
        each.machine().lost_leader();
    }
    for (const auto& open : orders_.close_all()) {
        unanswered(open, now);
    }
    changed_();
}

void Evacuations::take(const EvacuationRules& rules) {
    const auto before = rules_;
    rules_ = rules;
    if (!options_.hook && rules.mode == EvacuationMode::act) {
        rules_->mode = EvacuationMode::observe;
    }
    if (!before || before->mode != rules_->mode) {
        spdlog::info("evacuation rules mode={} reserve={}s patience={}s", to_string(rules_->mode),
                     rules.reserve.count(), rules.patience.count());
    }
    const auto now = clock_.steady();
    if (!is_mode(EvacuationMode::observe)) {
        // What was only observed is looked at anew, or not at all.
        const auto gone =
            std::erase_if(followed_, [](const auto& each) { return each.second.is_observed(); });
        members_changed_ = members_changed_ || gone > 0;
    }
    for (auto& [pod, each] : followed_) {
        auto settings = made(now);
        // One that is held under `act` is let go by any other mode.
        settings.settings.act = each.is_observed() || is_mode(EvacuationMode::act);
        each.use(settings, now);
    }
    changed_();
}

void Evacuations::take(const EvacuationFacts& facts) {
    auto* const followed = find(facts.vmi_uid);
    if (followed == nullptr) {
        return;
    }
    slots_ = facts.slots;
    followed->take(facts, clock_);
    changed_();
}

void Evacuations::take(EvacuationResult result) {
    const auto open = orders_.close(result.id);
    if (!open) {
        spdlog::debug("the leader answers an order that is not open id={}", result.id);
        return;
    }
    if (!result.text.empty()) {
        spdlog::info("order answered step={} vmi_uid={} text={}",
                     migration::to_string(open->order.step), log_value(open->vmi_uid),
                     log_value(result.text));
    }
    const auto found = followed_.find(open->pod_uid);
    if (found != followed_.end()) {
        found->second.answered(open->order, std::move(result), clock_.steady());
    }
    changed_();
}

bool Evacuations::has_next() const {
    return there_ && (members_changed_ || orders_.has_next() ||
                      (lines_changed_ && clock_.steady() >= tell_lines_at_));
}

std::optional<Message> Evacuations::next() {
    if (!has_next()) {
        return std::nullopt;
    }
    const auto now = clock_.steady();
    // Orders name members, so a new one is told first.
    if (members_changed_ || !orders_.has_next()) {
        members_changed_ = lines_changed_ = false;
        tell_lines_at_ = now + tell_pause;
        return lines();
    }
    if (auto order = orders_.next()) {
        return *std::move(order);
    }
    return std::nullopt;
}

EvacuationsMessage Evacuations::lines() const {
    EvacuationsMessage message;
    message.hook_served = hook_served_;
    message.lines.reserve(followed_.size());
    for (const auto& [pod, each] : followed_) {
        message.lines.push_back(each.line(clock_));
    }
    return message;
}

std::string Evacuations::text() const {
    if (!rules_) {
        return "nothing is held: no leader of the aggregators has told the rules yet";
    }
    if (!is_mode(EvacuationMode::act)) {
        return "nothing is held: evacuation.mode is " + std::string{to_string(rules_->mode)};
    }
    if (!there_ && (!heard_ || clock_.steady() - *heard_ >= rules_->patience)) {
        return "nothing is held: no leader of the aggregators is heard";
    }
    return "VMs whose launchers are told to stop are moved";
}

}  // namespace scout::agent
