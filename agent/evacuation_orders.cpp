// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuation_orders.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace scout::agent {
namespace {

/// Before it is decided a guest waits for what the VMI says: then what virt-handler says of it must
/// do (design §6).
constexpr std::chrono::seconds decision_limit{1};
/// KubeVirt's webhooks may take 10 s, and the leader its own time.
constexpr std::chrono::seconds act_limit{15};

}  // namespace

void EvacuationOrders::give(std::string vmi_uid, std::string pod_uid,
                            migration::EvacuationOrder order, bool decides, SteadyTime now) {
    const auto until = now + (decides ? decision_limit : act_limit);
    open_.emplace(++last_id_, Open{.vmi_uid = std::move(vmi_uid),
                                   .pod_uid = std::move(pod_uid),
                                   .order = std::move(order),
                                   .until = until});
    unsent_.push_back(last_id_);
}

bool EvacuationOrders::has(std::string_view vmi_uid) const noexcept {
    return std::any_of(open_.begin(), open_.end(),
                       [vmi_uid](const auto& each) { return each.second.vmi_uid == vmi_uid; });
}

std::optional<EvacuationOrderMessage> EvacuationOrders::next() {
    while (!unsent_.empty()) {
        const auto id = unsent_.front();
        unsent_.pop_front();
        if (const auto found = open_.find(id); found != open_.end()) {
            return EvacuationOrderMessage{
                .id = id, .vmi_uid = found->second.vmi_uid, .order = found->second.order};
        }
    }
    return std::nullopt;
}

std::optional<EvacuationOrders::Open> EvacuationOrders::close(std::uint64_t id) {
    auto node = open_.extract(id);
    return node.empty() ? std::nullopt : std::optional{std::move(node.mapped())};
}

std::vector<EvacuationOrders::Open> EvacuationOrders::expire(SteadyTime now) {
    std::vector<Open> over;
    for (auto each = open_.begin(); each != open_.end();) {
        if (each->second.until <= now) {
            over.push_back(std::move(each->second));
            each = open_.erase(each);
        } else {
            ++each;
        }
    }
    return over;
}

std::vector<EvacuationOrders::Open> EvacuationOrders::close_all() {
    std::vector<Open> all;
    all.reserve(open_.size());
    for (auto& [id, open] : open_) {
        all.push_back(std::move(open));
    }
    open_.clear();
    unsent_.clear();
    return all;
}

SteadyTime EvacuationOrders::next_expiry() const noexcept {
    auto next = SteadyTime::max();
    for (const auto& [id, open] : open_) {
        next = std::min(next, open.until);
    }
    return next;
}

}  // namespace scout::agent
