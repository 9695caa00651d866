// SPDX-License-Identifier: Apache-2.0
// Callers that are cancelled while the keys are read, and those who wait with them.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "kube/published_keys.h"
#include "tests/kube/signed_tokens.h"
#include "tests/support/fake_clock.h"

namespace scout::kube {
namespace {

/// Holds the first request until it is let go or cancelled, and answers all others at once.
class HeldKeys final : public Transport {
public:
    explicit HeldKeys(asio::io_context& loop) : held_(loop, SteadyTime::max()) {}

    Task<Result<HttpResponse>> send(HttpRequest /*request*/,
                                    std::chrono::milliseconds /*limit*/) override {
        if (++requests == 1) {
            co_await held_.async_wait(as_result);
            if (!let_go_) {
                co_return fail(Errc::cancelled, "given up");
            }
        }
        HttpResponse response;
        response.head.status = 200;
        response.body =
            test::key_set({test::TokenSigner{test::TokenSigner::Kind::p256, "a"}.published()});
        co_return response;
    }
    Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest /*request*/,
                                                   std::chrono::milliseconds /*limit*/) override {
        co_return fail(Errc::cancelled, "no watches here");
    }
    void let_go() {
        let_go_ = true;
        held_.cancel();
    }

    unsigned requests = 0;

private:
    asio::steady_timer held_;
    bool let_go_ = false;
};

class PublishedKeysCancelTest : public testing::Test {
protected:
    using Keys = Result<std::shared_ptr<const SigningKeys>>;
    struct Caller {
        asio::cancellation_signal cancel;
        std::optional<Keys> answer;  ///< nothing as well if it ended by an exception

        [[nodiscard]] bool has_key() const { return answer && *answer && (**answer)->has("a"); }
    };

    PublishedKeysCancelTest() {
        for (auto& caller : callers) {
            asio::co_spawn(
                loop, published.with("a"),
                asio::bind_cancellation_slot(caller.cancel.slot(),
                                             [&caller](std::exception_ptr error, Keys keys) {
                                                 if (!error) {
                                                     caller.answer = std::move(keys);
                                                 }
                                             }));
        }
        loop.poll();
        EXPECT_EQ(transport.requests, 1U);
    }

    asio::io_context loop{1};
    test::FakeClock clock;
    HeldKeys transport{loop};
    Client client{transport, clock, {.attempts = 1}};
    PublishedKeys published{client, clock};
    std::array<Caller, 3> callers;
};

TEST_F(PublishedKeysCancelTest, WhenTheReaderIsCancelledOneOfThoseWhoWaitReadsNext) {
    callers[0].cancel.emit(asio::cancellation_type::terminal);
    loop.run();

    ASSERT_TRUE(callers[0].answer);
    ASSERT_FALSE(*callers[0].answer);
    EXPECT_EQ(callers[0].answer->error().code, Errc::cancelled);
    EXPECT_TRUE(callers[1].has_key());
    EXPECT_TRUE(callers[2].has_key());
    EXPECT_EQ(transport.requests, 2U);
}

TEST_F(PublishedKeysCancelTest, WhoWaitsIsCancelledAlone) {
    callers[1].cancel.emit(asio::cancellation_type::terminal);
    loop.poll();
    ASSERT_TRUE(callers[1].answer);
    ASSERT_FALSE(*callers[1].answer);
    EXPECT_EQ(callers[1].answer->error().code, Errc::cancelled);
    EXPECT_FALSE(callers[2].answer);

    transport.let_go();
    loop.run();

    EXPECT_TRUE(callers[0].has_key());
    EXPECT_TRUE(callers[2].has_key());
    EXPECT_EQ(transport.requests, 1U);
}

TEST_F(PublishedKeysCancelTest, ACancelledReadLeavesNoTroubleBehind) {
    for (auto& caller : callers) {
        caller.cancel.emit(asio::cancellation_type::terminal);
    }
    loop.run();
    loop.restart();
    std::optional<Keys> later;
    asio::co_spawn(loop, published.with("a"),
                   [&later](const std::exception_ptr&, Keys keys) { later = std::move(keys); });

    loop.run();

    ASSERT_TRUE(later);
    ASSERT_TRUE(*later) << later->error().message;
    EXPECT_TRUE((**later)->has("a"));
}

}  // namespace
}  // namespace scout::kube
