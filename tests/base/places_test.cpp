// SPDX-License-Identifier: Apache-2.0
#include "base/places.h"

#include <chrono>
#include <list>
#include <memory>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/task_scope.h"
#include "tests/support/run_to_end.h"

namespace scout {
namespace {

using namespace std::chrono_literals;

class PlacesTest : public testing::Test {
protected:
    Task<> take(int who) {
        auto place = co_await places->enter(20s);
        if (place) {
            held.push_back(std::move(*place));
            order.push_back(who);
        }
    }
    Task<Error> refusal(std::chrono::milliseconds limit) {
        const auto place = co_await places->enter(limit);
        co_return place ? Error{} : place.error();
    }
    void enter(int who) {
        asio::co_spawn(loop, take(who), [](const std::exception_ptr&) {});
        loop.restart();
        loop.poll();
    }
    void leave() {
        held.erase(held.begin());
        loop.restart();
        loop.poll();
    }

    asio::io_context loop{1};
    std::shared_ptr<Places> places = std::make_shared<Places>(loop.get_executor(), 2);
    std::vector<int> order;
    std::list<Places::Place> held;
};

TEST_F(PlacesTest, WhoWaitsComesInTheOrderOfArrival) {
    for (int who = 1; who <= 5; ++who) {
        enter(who);
    }
    EXPECT_EQ(order, (std::vector{1, 2}));

    leave();
    leave();
    leave();

    EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5}));
}

TEST_F(PlacesTest, AWaitHasAnEnd) {
    enter(1);
    enter(2);

    const auto error = test::run_until_done(loop, refusal(1ms));

    EXPECT_EQ(error.code, Errc::timed_out);
    EXPECT_EQ(error.message, "all 2 places were taken for 1 ms");
}

TEST_F(PlacesTest, APlaceGivenToOneWhoIsGoneGoesToTheNext) {
    enter(1);
    enter(2);
    TaskScope scope{loop.get_executor()};
    scope.spawn("waits", [this]() -> Task<> {
        const auto place = co_await places->enter(20s);
        order.push_back(place ? 3 : 0);
    });
    loop.poll();
    enter(4);

    // Both happen before the one that waited first is resumed.
    held.pop_front();
    asio::co_spawn(loop, scope.close(), [](const std::exception_ptr&) {});
    loop.restart();
    loop.poll();

    EXPECT_EQ(scope.running(), 0U);
    EXPECT_EQ(order.back(), 4);
}

}  // namespace
}  // namespace scout
