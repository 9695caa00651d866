// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/remembered_reviews.h"
#include "base/clock.h"
#include "base/places.h"
#include "base/result.h"
#include "base/task.h"

namespace scout::aggregator {

/// What the API server says to a question, and how long that holds.
struct Review {
    Status outcome;
    std::chrono::milliseconds kept{};  ///< none: whoever comes next asks again
};

/// Questions to the API server whose answers hold for a while: each is asked once, by however many
/// it is wanted, and few at a time. Loop thread only; the clock must outlive it.
class SharedReviews {
public:
    struct Limits {
        std::size_t at_once = 8;  ///< further ones wait
        std::size_t kept = 4096;  ///< answers that are remembered
        std::chrono::milliseconds wait = std::chrono::seconds{10};
    };

    SharedReviews(asio::any_io_executor loop, const Clock& clock, Limits limits);

    /// `ask` is called unless the answer to what has this digest is known or under way. Errors
    /// beside its own: unavailable if there was no place for it in time, or it was given up.
    [[nodiscard]] Task<Status> outcome(std::string digest, std::function<Task<Review>()> ask);

private:
    struct Asked;
    class UnderWay;

    asio::any_io_executor loop_;
    const Clock& clock_;
    std::chrono::milliseconds wait_;
    std::shared_ptr<Places> places_;
    RememberedReviews remembered_;
    std::map<std::string, std::shared_ptr<Asked>> under_way_;  ///< by digest
};

}  // namespace scout::aggregator
