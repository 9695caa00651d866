// SPDX-License-Identifier: Apache-2.0
#include "migration/node_pressure.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "migration/eviction_order.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;

/// Of two looks that count as close, the second may be late.
constexpr int close_looks_late = 3;
constexpr auto confirmed_after = PressureTrend::needed_blocks * PressureTrend::block_time;

/// Whether it gets there in time, if it goes on falling as it did between two looks.
bool falls_towards(const SignalRoom& before, const SignalRoom& now, std::uint64_t threshold,
                   milliseconds between, milliseconds ahead) noexcept {
    if (now.available >= before.available || between <= milliseconds{0}) {
        return false;
    }
    const auto fallen = static_cast<double>(before.available - now.available);
    const auto left = static_cast<double>(now.available - std::min(now.available, threshold));
    return left / fallen * static_cast<double>(between.count()) <=
           static_cast<double>(ahead.count());
}

/// Of the same resource it gives pods less time.
bool is_harder(const EvictionThreshold& threshold, const EvictionThreshold& than) noexcept {
    return !threshold.soft_grace && than.soft_grace &&
           ranked_as(threshold.signal) == ranked_as(than.signal);
}

}  // namespace

NodePressure::NodePressure(KubeletEviction kubelet, PressurePolicy policy) : policy_(policy) {
    use(std::move(kubelet));
}

void NodePressure::use(KubeletEviction kubelet) {
    kubelet_ = std::move(kubelet);
    outlooks_.clear();
    for (const auto& threshold : kubelet_.thresholds) {
        outlooks_.push_back({.threshold = threshold});
    }
    expected_at_.assign(outlooks_.size(), SteadyTime::min());
}

std::vector<PressureChange> NodePressure::add(SteadyTime now, const NodeRoom& room, bool stalled) {
    if (!last_ || now - *last_ > close_looks_late * policy_.close_look) {
        close_since_ = now;
    }
    look_for_signs(now, room, stalled);
    for (const auto& [signal, found] : room) {
        trends_[signal].add(now, found.available);
    }
    room_ = room;
    last_ = now;
    std::vector<PressureChange> changes;
    for (std::size_t i = 0; i < outlooks_.size(); ++i) {
        auto& outlook = outlooks_[i];
        judge(outlook, now);
        if (is_expected(outlook)) {
            expected_at_[i] = now;
            sign_at_ = now;
        }
        const bool warned =
            expected_at_[i] != SteadyTime::min() && now - expected_at_[i] < policy_.calm;
        if (warned != std::exchange(outlook.warned, warned)) {
            changes.push_back({.threshold = i, .began = warned});
        }
    }
    return changes;
}

void NodePressure::look_for_signs(SteadyTime now, const NodeRoom& room, bool stalled) {
    if (stalled) {
        sign_at_ = now;
    }
    if (!last_) {
        return;
    }
    const auto between = std::chrono::floor<milliseconds>(now - *last_);
    for (const auto& outlook : outlooks_) {
        const auto before = room_.find(outlook.threshold.signal);
        const auto found = room.find(outlook.threshold.signal);
        if (before != room_.end() && found != room.end() &&
            falls_towards(before->second, found->second,
                          outlook.threshold.value.of(found->second.capacity), between,
                          policy_.ahead)) {
            sign_at_ = now;
        }
    }
}

void NodePressure::judge(ThresholdOutlook& outlook, SteadyTime now) const {
    const bool acted = outlook.passed_since && outlook.evicts_in == milliseconds{0};
    outlook.reached.reset();
    outlook.evicts_in.reset();
    const auto found = room_.find(outlook.threshold.signal);
    if (found == room_.end()) {
        outlook.room.reset();
        outlook.passed_since.reset();
        return;
    }
    const auto& room = found->second;
    outlook.room = room;
    outlook.at = outlook.threshold.value.of(room.capacity);
    const auto& reclaim = outlook.threshold.minimum_reclaim;
    const auto over_at =
        acted && reclaim ? saturated_sum(outlook.at, reclaim->of(room.capacity)) : outlook.at;
    if (room.available >= over_at) {
        outlook.passed_since.reset();
    } else if (!outlook.passed_since) {
        outlook.passed_since = now;
    }
    const auto grace = outlook.threshold.soft_grace.value_or(milliseconds{0});
    if (outlook.passed_since) {
        outlook.reached = TrendForecast{.in = {}, .confidence = 1};
        outlook.evicts_in = std::max(
            milliseconds{0}, grace - std::chrono::floor<milliseconds>(now - *outlook.passed_since));
    } else if (now - close_since_ >= confirmed_after) {
        outlook.reached = trends_.at(outlook.threshold.signal).until(outlook.at);
        if (outlook.reached) {
            outlook.evicts_in = outlook.reached->in + grace;
        }
    }
}

bool NodePressure::is_expected(const ThresholdOutlook& outlook) const noexcept {
    return outlook.reached && outlook.reached->in <= policy_.ahead;
}

milliseconds NodePressure::next_look() const noexcept {
    const bool sign = last_ && sign_at_ && *last_ - *sign_at_ < policy_.calm;
    return sign ? policy_.close_look : policy_.quiet_look;
}

std::set<PressureSignal> NodePressure::near() const {
    std::set<PressureSignal> near;
    for (const auto& outlook : outlooks_) {
        if (outlook.warned || outlook.passed_since) {
            near.insert(outlook.threshold.signal);
        }
    }
    return near;
}

const ThresholdOutlook* NodePressure::acting() const noexcept {
    const ThresholdOutlook* acting = nullptr;
    for (const auto& outlook : outlooks_) {
        const bool acts = outlook.passed_since && outlook.evicts_in == milliseconds{0};
        if (acts && (acting == nullptr || is_harder(outlook.threshold, acting->threshold))) {
            acting = &outlook;
        }
    }
    return acting;
}

std::optional<std::chrono::seconds> NodePressure::kubelet_grace(
    std::chrono::seconds pod_grace) const noexcept {
    const auto* passed = acting();
    if (passed == nullptr) {
        // The kubelet may have seen it pass before this was looked at.
        const auto found = std::find_if(outlooks_.begin(), outlooks_.end(), [](const auto& each) {
            return each.passed_since.has_value();
        });
        passed = found != outlooks_.end() ? &*found : nullptr;
    }
    return passed != nullptr ? std::optional{eviction_grace(passed->threshold, kubelet_, pod_grace)}
                             : std::nullopt;
}

}  // namespace scout::migration
