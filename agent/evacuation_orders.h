// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/messages.h"
#include "base/clock.h"
#include "migration/evacuation.h"

namespace scout::agent {

/// What the leader was asked to do and has not answered: at most one order for each VMI. Pure: time
/// is passed in.
class EvacuationOrders {
public:
    struct Open {
        std::string vmi_uid;
        std::string pod_uid;
        migration::EvacuationOrder order;
        SteadyTime until{};  ///< then it counts as not answered
    };

    /// `decides`: it is not decided before the answer, and virt-handler waits for that.
    void give(std::string vmi_uid, std::string pod_uid, migration::EvacuationOrder order,
              bool decides, SteadyTime now);
    [[nodiscard]] bool has(std::string_view vmi_uid) const noexcept;

    /// The next one to send, in the order in which they were given.
    [[nodiscard]] std::optional<EvacuationOrderMessage> next();
    [[nodiscard]] bool has_next() const noexcept { return !unsent_.empty(); }

    /// The order that was answered; none: there is no such one, or not any more.
    [[nodiscard]] std::optional<Open> close(std::uint64_t id);
    /// Those whose time is over.
    [[nodiscard]] std::vector<Open> expire(SteadyTime now);
    /// All: the stream on which they were sent is lost.
    [[nodiscard]] std::vector<Open> close_all();
    /// When expire() may have some; SteadyTime::max(): never.
    [[nodiscard]] SteadyTime next_expiry() const noexcept;

private:
    std::map<std::uint64_t, Open> open_;
    std::deque<std::uint64_t> unsent_;
    std::uint64_t last_id_ = 0;
};

}  // namespace scout::agent
