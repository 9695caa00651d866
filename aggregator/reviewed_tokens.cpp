// SPDX-License-Identifier: Apache-2.0
#include "aggregator/reviewed_tokens.h"

namespace scout::aggregator {

const Status* ReviewedTokens::find(std::string_view digest, SteadyTime now) const {
    const auto found = tokens_.find(digest);
    return found == tokens_.end() || found->second.until <= now ? nullptr : &found->second.outcome;
}

void ReviewedTokens::keep(const std::string& digest, Status outcome, SteadyTime until) {
    const auto [entry, made] = tokens_.try_emplace(digest);
    if (!made) {
        by_end_.erase({entry->second.until, entry->first});
    }
    entry->second = {.outcome = std::move(outcome), .until = until};
    by_end_.emplace(until, entry->first);
    if (tokens_.size() > limit_) {
        const auto first = by_end_.begin();
        const auto token = tokens_.find(first->second);
        by_end_.erase(first);
        tokens_.erase(token);
    }
}

}  // namespace scout::aggregator
