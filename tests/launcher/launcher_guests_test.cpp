// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_guests.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/domain_texts.h"
#include "tests/launcher/fake_launcher.h"
#include "tests/launcher/raw_listener.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout::launcher {
namespace {

using namespace std::chrono_literals;
using hypervisor::Reach;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class LauncherGuestsTest : public testing::Test {
protected:
    LauncherGuestsTest() {
        config.pods_dir = pods.path();
        config.ask = {.poll = 20ms, .retry = 5ms};
        config.calls = {.handshake = 100ms, .call = 100ms, .dirty_rate = 100ms};
        config.look = 200ms;
    }
    ~LauncherGuestsTest() override { EXPECT_TRUE(pool.stop(5s)); }

    static std::string text(const std::string& name, const std::string& status = "Running",
                            const std::string& reason = "Unknown") {
        return test::domain_text(
            {.name = name, .uuid = "uuid-" + name, .status = status, .reason = reason});
    }
    std::unique_ptr<test::FakeLauncher> launcher(const std::string& pod, std::string domain) {
        auto made = std::make_unique<test::FakeLauncher>(pods.path(), pod);
        made->answer(std::move(domain));
        return made;
    }
    /// "name:state" of each guest, by UUID.
    [[nodiscard]] std::string seen() const {
        const auto all = guests->guests();
        if (!all) {
            return "error: " + all.error().message;
        }
        std::string line;
        for (const auto& guest : *all) {
            line += (line.empty() ? "" : " ") + guest.name + ":" + guest.state;
        }
        return line;
    }
    /// Turns the loop until these are the guests, at most 10 s.
    Task<> expect_guests(std::string wanted) {
        asio::steady_timer timer(loop);
        for (int i = 0; i < 2000 && seen() != wanted; ++i) {
            timer.expires_after(5ms);
            co_await timer.async_wait(as_result);
        }
        EXPECT_EQ(seen(), wanted);
    }
    /// The story, while the launchers are followed.
    void tell(const std::function<Task<>()>& story) {
        guests = std::make_unique<LauncherGuests>(config, loop.get_executor(), pool, clock);
        const auto events = guests->subscribe([this](const hypervisor::GuestEvent& event) {
            happened.push_back(std::string{hypervisor::to_string(event.kind)} + " " + event.name +
                               " " + event.state);
        });
        auto whole = [&]() -> Task<> {
            TaskScope scope(loop.get_executor());
            scope.spawn("launchers", [this] { return guests->run(); });
            co_await story();
            co_await scope.close();
        };
        test::run_until_done(loop, whole());
        guests.reset();
    }

    test::TemporaryFolder pods;
    asio::io_context loop{1};
    SystemClock clock;
    BlockingPool pool{2};
    LauncherConfig config;
    std::unique_ptr<LauncherGuests> guests;
    std::vector<std::string> happened;
};

TEST_F(LauncherGuestsTest, FindsGuestsFollowsThemAndLosesThemWithTheirPods) {
    auto first = launcher("p1", text("vm-1"));
    std::unique_ptr<test::FakeLauncher> second;
    tell([&]() -> Task<> {
        EXPECT_THAT(seen(), HasSubstr("launchers are being asked"));
        co_await expect_guests("shop/vm-1:running");
        EXPECT_EQ(guests->connection().reach, Reach::connected);
        second = launcher("p2", text("vm-2", "Paused", "User"));
        co_await expect_guests("shop/vm-1:running shop/vm-2:paused");
        first->answer(text("vm-1", "ShuttingDown", "User"));
        co_await expect_guests("shop/vm-1:shutdown shop/vm-2:paused");
        first->answer("");
        co_await expect_guests("shop/vm-2:paused");
        std::filesystem::remove_all(pods.path() / "p2");
        co_await expect_guests("");
    });

    EXPECT_THAT(happened, ElementsAre("added shop/vm-1 running", "added shop/vm-2 paused",
                                      "state-changed shop/vm-1 shutdown",
                                      "removed shop/vm-1 shutdown", "removed shop/vm-2 paused"));
}

TEST_F(LauncherGuestsTest, LauncherIsAskedFromWhenItsSocketHasItsName) {
    config.look = 30s;
    auto first = std::make_unique<test::FakeLauncher>(pods.path(), "p1", "launcher-init-sock");
    first->answer(text("vm-1"));
    tell([&]() -> Task<> {
        co_await expect_guests("");
        EXPECT_EQ(first->handshakes(), 0U);
        std::filesystem::rename(first->folder() / "launcher-init-sock",
                                first->folder() / "launcher-sock");
        co_await expect_guests("shop/vm-1:running");
        pods.write(first->folder() / "launcher-unresponsive", "");
        co_await expect_guests("shop/vm-1:unknown");
        EXPECT_EQ(first->handshakes(), 1U);
    });
}

TEST_F(LauncherGuestsTest, LauncherThatHangsCostsItsOwnGuestAlone) {
    auto first = launcher("p1", text("vm-1"));
    auto second = launcher("p2", text("vm-2"));
    const test::RawListener silent(test::sockets_of(pods.path(), "p3") / "launcher-sock");
    const test::RawListener garbage(test::sockets_of(pods.path(), "p4") / "launcher-sock", "\n\n");
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running shop/vm-2:running");
        first->hang(true);
        co_await expect_guests("shop/vm-1:unknown shop/vm-2:running");
        const auto before = second->asked();
        asio::steady_timer pause(loop, 300ms);
        co_await pause.async_wait(as_result);
        EXPECT_GT(second->asked(), before + 5);
        first->hang(false);
        co_await expect_guests("shop/vm-1:running shop/vm-2:running");
        EXPECT_GT(guests->counters().stuck_calls, 0U);
    });
    EXPECT_THAT(happened, Contains("state-changed shop/vm-1 unknown"));
}

TEST_F(LauncherGuestsTest, LauncherOfAnotherVersionIsNotAsked) {
    auto first = launcher("p1", text("vm-1"));
    first->speak({2});
    tell([&]() -> Task<> {
        co_await expect_guests("");
        const auto fault = guests->launchers().launchers().at("p1").fault;
        EXPECT_THAT(fault, HasSubstr("expected version 1"));
        EXPECT_EQ(first->asked(), 0U);
        first->speak({1});
        co_await expect_guests("shop/vm-1:running");
    });
}

TEST_F(LauncherGuestsTest, ConnectionThatBrokeIsMadeAgain) {
    auto first = launcher("p1", text("vm-1"));
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running");
        first.reset();
        co_await expect_guests("shop/vm-1:unknown");
        first = launcher("p1", text("vm-1"));
        co_await expect_guests("shop/vm-1:running");
    });
}

TEST_F(LauncherGuestsTest, OneMoveIsOneGuest) {
    auto source = launcher("p1", text("vm-1"));
    auto target = launcher("p2", text("vm-1", "Paused", "Migration"));
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running");
        EXPECT_EQ(target->handshakes(), 1U);
        source->answer(text("vm-1", "Shutoff", "Migrated"));
        target->answer(text("vm-1"));
        co_await expect_guests("shop/vm-1:running");
    });
    EXPECT_EQ(happened.front(), "added shop/vm-1 running");
}

TEST_F(LauncherGuestsTest, FolderThatCannotBeReadMakesAllUnknownAndRemovesNone) {
    auto first = launcher("p1", text("vm-1"));
    const auto aside = pods.path().string() + ".aside";
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running");
        std::filesystem::rename(pods.path(), aside);
        co_await expect_guests("shop/vm-1:unknown");
        EXPECT_EQ(guests->connection().reach, Reach::unreachable);
        EXPECT_NE(guests->connection().reason, "");
        const auto refused = co_await guests->resync();
        EXPECT_EQ(refused.error().code, Errc::unavailable);
        std::filesystem::rename(aside, pods.path());
        co_await expect_guests("shop/vm-1:running");
        EXPECT_EQ(guests->connection().reach, Reach::connected);
    });
}

TEST_F(LauncherGuestsTest, ResyncAsksEveryLauncherNow) {
    config.ask.poll = 1h;
    auto first = launcher("p1", text("vm-1"));
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running");
        first->answer(text("vm-1", "Paused", "IOError"));
        const auto done = co_await guests->resync();
        EXPECT_TRUE(done);
        EXPECT_EQ(seen(), "shop/vm-1:paused");
    });
}

TEST_F(LauncherGuestsTest, ProbesNothing) {
    tell([&]() -> Task<> {
        const auto probed = co_await guests->probe();
        EXPECT_EQ(probed.error().code, Errc::refused);
    });
}

TEST_F(LauncherGuestsTest, LauncherIsAskedAtOnceForWhoCannotWait) {
    config.ask = {.poll = 60s};
    auto first = launcher("p1", text("vm-1"));
    auto second = launcher("p2", text("vm-2"));
    unsigned news = 0;
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running shop/vm-2:running");
        const auto watch = guests->watch_launchers([&news](const LauncherTable&) { ++news; });
        first->answer(test::domain_text({.name = "vm-1",
                                         .uuid = "uuid-vm-1",
                                         .grace = R"({"MarkedForGracefulShutdown":true})"}));
        const auto before = second->asked();
        std::vector<std::string> asked{"p1", "nobody"};
        co_await guests->ask_now(std::move(asked), 10s);
        EXPECT_TRUE(guests->launchers().launchers().at("p1").domain->marked);
        EXPECT_EQ(news, 1U);
        EXPECT_EQ(second->asked(), before);

        first->hang(true);
        const auto begun = clock.steady();
        std::vector<std::string> hanging{"p1"};
        co_await guests->ask_now(std::move(hanging), 30ms);
        EXPECT_LT(clock.steady() - begun, 5s);
        first->hang(false);
    });
}

TEST_F(LauncherGuestsTest, NumbersComeFromOneLauncher) {
    auto first = launcher("p1", text("vm-1"));
    first->answer_stats(R"({"Name":"shop_vm-1","Memory":{"RSSSet":true,"RSS":4096}})");
    tell([&]() -> Task<> {
        co_await expect_guests("shop/vm-1:running");
        const auto stats = co_await guests->stats("p1");
        EXPECT_TRUE(stats && *stats);
        EXPECT_EQ(stats.value().value().rss_kib, 4096U);
        const auto nobody = co_await guests->stats("p2");
        EXPECT_EQ(nobody.error().code, Errc::not_found);
    });
}

}  // namespace
}  // namespace scout::launcher
