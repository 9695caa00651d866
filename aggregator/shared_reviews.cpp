// SPDX-License-Identifier: Apache-2.0
#include "aggregator/shared_reviews.h"

#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace scout::aggregator {

/// Whoever comes with the same question meanwhile waits for this one.
struct SharedReviews::Asked {
    explicit Asked(const asio::any_io_executor& loop) : ended(loop, SteadyTime::max()) {}

    asio::steady_timer ended;
    Status outcome = fail(Errc::unavailable, "its check was given up");
};

/// Puts a question among those under way, and tells its end however it ends.
class SharedReviews::UnderWay {
public:
    UnderWay(SharedReviews& reviews, std::string digest)
        : reviews_(reviews),
          place_(
              reviews.under_way_.emplace(std::move(digest), std::make_shared<Asked>(reviews.loop_))
                  .first) {}
    ~UnderWay() {
        place_->second->ended.cancel();
        reviews_.under_way_.erase(place_);
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    UnderWay(UnderWay&&) = delete;
    UnderWay& operator=(UnderWay&&) = delete;

    void end(const Status& outcome) { place_->second->outcome = outcome; }
    [[nodiscard]] const std::string& digest() const noexcept { return place_->first; }

private:
    SharedReviews& reviews_;
    std::map<std::string, std::shared_ptr<Asked>>::iterator place_;
};

SharedReviews::SharedReviews(asio::any_io_executor loop, const Clock& clock, Limits limits)
    : loop_(std::move(loop)),
      clock_(clock),
      wait_(limits.wait),
      places_(std::make_shared<Places>(loop_, limits.at_once)),
      remembered_(limits.kept) {}

Task<Status> SharedReviews::outcome(std::string digest, std::function<Task<Review>()> ask) {
    if (const auto* known = remembered_.find(digest, clock_.steady())) {
        co_return *known;
    }
    if (const auto found = under_way_.find(digest); found != under_way_.end()) {
        const auto other = found->second;
        co_await other->ended.async_wait(as_result);
        co_return other->outcome;
    }
    UnderWay own(*this, std::move(digest));
    const auto place = co_await places_->enter(wait_);
    if (!place) {
        const Status crowded =
            fail(Errc::unavailable,
                 "it was not checked in time, many come at once: " + place.error().message);
        own.end(crowded);
        co_return crowded;
    }
    auto review = co_await ask();
    own.end(review.outcome);
    if (review.kept.count() > 0) {
        remembered_.keep(own.digest(), review.outcome, clock_.steady() + review.kept);
    }
    co_return std::move(review.outcome);
}

}  // namespace scout::aggregator
