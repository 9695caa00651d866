// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace scout::aggregator {

/// What the API server said, by digests of what it was asked. Where there is no room the outcome
/// that ends first makes some, so that refusals, which are short, never push others out. Pure.
class RememberedReviews {
public:
    explicit RememberedReviews(std::size_t limit) noexcept : limit_(limit) {}

    /// Null if nothing is known that is in force; else valid until the next keep().
    [[nodiscard]] const Status* find(std::string_view digest, SteadyTime now) const;
    void keep(const std::string& digest, Status outcome, SteadyTime until);

    [[nodiscard]] std::size_t size() const noexcept { return reviews_.size(); }

private:
    struct Review {
        Status outcome;
        SteadyTime until;
    };

    std::size_t limit_;
    std::map<std::string, Review, std::less<>> reviews_;
    std::set<std::pair<SteadyTime, std::string_view>> by_end_;  ///< names are those of reviews_
};

}  // namespace scout::aggregator
