// SPDX-License-Identifier: Apache-2.0
#include "aggregator/remembered_reviews.h"

namespace scout::aggregator {

const Status* RememberedReviews::find(std::string_view digest, SteadyTime now) const {
    const auto found = reviews_.find(digest);
    return found == reviews_.end() || found->second.until <= now ? nullptr : &found->second.outcome;
}

void RememberedReviews::keep(const std::string& digest, Status outcome, SteadyTime until) {
    const auto [entry, made] = reviews_.try_emplace(digest);
    if (!made) {
        by_end_.erase({entry->second.until, entry->first});
    }
    entry->second = {.outcome = std::move(outcome), .until = until};
    by_end_.emplace(until, entry->first);
    if (reviews_.size() > limit_) {
        const auto first = by_end_.begin();
        const auto review = reviews_.find(first->second);
        by_end_.erase(first);
        reviews_.erase(review);
    }
}

}  // namespace scout::aggregator
