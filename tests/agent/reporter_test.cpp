// SPDX-License-Identifier: Apache-2.0
#include "agent/reporter.h"

#include <deque>
#include <sstream>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "agent/evacuations.h"
#include "agent/pressure_teller.h"
#include "base/task_scope.h"
#include "tests/agent/fake_launchers.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_hypervisor.h"
#include "tests/support/run_to_end.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Lets time pass by itself: a wait is over at once, and the clock shows its end. When the time is
/// up it waits for ever, and tells.
class FakePacer final : public Pacer {
public:
    FakePacer(asio::io_context& loop, std::chrono::hours span)
        : end_(now_ + span), timer_(loop, asio::steady_timer::time_point::max()) {}

    [[nodiscard]] SteadyTime now() const override { return now_; }
    Task<> wait_until(SteadyTime time) override {
        if (time >= end_) {
            at_end();
            co_await timer_.async_wait(as_result);
            co_return;
        }
        if (on_wait) {
            on_wait();
        }
        // Yields, so that other coroutines of the loop have their turn.
        co_await asio::post(timer_.get_executor(), asio::use_awaitable);
        now_ = woken_ ? now_ + 1ms : std::max(now_, time);
        woken_ = false;
    }
    void wake() override { woken_ = true; }

    std::function<void()> on_wait;
    std::function<void()> at_end;

private:
    SteadyTime now_{1h};
    SteadyTime end_;
    asio::steady_timer timer_;
    bool woken_ = false;
};

/// Streams that fail at once, or take `patience` messages first.
class FakeLink final : public AggregatorLink {
public:
    class Stream final : public ReportStream {
    public:
        explicit Stream(FakeLink& link) : link_(link) { ++link_.open_streams; }
        ~Stream() override { --link_.open_streams; }
        Stream(const Stream&) = delete;
        Stream& operator=(const Stream&) = delete;
        Stream(Stream&&) = delete;
        Stream& operator=(Stream&&) = delete;

        Task<Status> send(Message message) override {
            if (link_.send_throws) {
                throw std::length_error{"no such length"};
            }
            if (taken_ == link_.patience) {
                co_return fail(link_.end);
            }
            ++taken_;
            link_.kinds.push_back(message.index());
            co_return Status{};
        }
        Task<Result<Request>> receive() override {
            if (!link_.requests.empty() && taken_ > 0) {
                auto request = std::move(link_.requests.front());
                link_.requests.pop_front();
                co_return request;
            }
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            co_await timer.async_wait(as_result);
            co_return fail(Errc::cancelled, "given up");
        }

    private:
        FakeLink& link_;
        std::size_t taken_ = 0;
    };

    Result<std::unique_ptr<ReportStream>> open() override {
        ++opened;
        if (on_open) {
            on_open();
        }
        if (cannot_open) {
            return fail(*cannot_open);
        }
        return std::make_unique<Stream>(*this);
    }

    std::function<void()> on_open;
    std::optional<Error> cannot_open;
    bool send_throws = false;
    std::size_t patience = 0;
    Error end{Errc::unavailable, "connection refused"};  ///< of a stream, after its patience
    std::deque<Request> requests;
    std::vector<std::size_t> kinds;
    std::size_t opened = 0;
    std::size_t open_streams = 0;
};

class ReporterTest : public testing::Test {
protected:
    ReporterTest() : metrics(registry) {
        HostPart host;
        host.profile = std::make_shared<const migration::Profile>();
        host.profile_digest = "d1";
        snapshot.set_host(std::move(host));
        snapshot.set_complete();
    }
    void run_until_the_time_is_up(FakePacer& pacer) {
        reporter.emplace(HelloMessage{.node = "n", .host_identity = "i", .agent_version = "v"},
                         ReportPolicy{},
                         Reporter::Parts{.snapshot = snapshot,
                                         .link = link,
                                         .pacer = pacer,
                                         .metrics = metrics,
                                         .certificate = nullptr,
                                         .evacuations = evacuations,
                                         .pressure = pressure,
                                         .take_standings = take_standings},
                         1);
        TaskScope scope(loop.get_executor());
        // Posted: a cancellation from within the reporter itself would be none from outside.
        auto close = [&] {
            was_connected = metrics.aggregator_connected.Value() == 1;
            asio::co_spawn(loop, scope.close(), [](const std::exception_ptr&) {});
        };
        pacer.at_end = [&] { asio::post(loop, close); };
        scope.spawn("reporter", [&] { return reporter->run(); });
        loop.run();
        ASSERT_EQ(scope.running(), 0U);
    }

    asio::io_context loop{1};
    prometheus::Registry registry;
    AgentMetrics metrics;
    Snapshot snapshot;
    FakeLink link;
    std::optional<Reporter> reporter;
    Evacuations* evacuations = nullptr;
    PressureTeller* pressure = nullptr;
    std::function<void(migration::PodStandings)> take_standings;
    bool was_connected = false;  ///< when the time was up
};

TEST_F(ReporterTest, StaysSmallAndPatientThrough72HoursWithoutTheAggregator) {
    FakePacer pacer(loop, 72h);
    std::uint64_t changes = 0;
    pacer.on_wait = [&] {
        // Guests come and go all the time; two live at once.
        const auto uuid = std::to_string(++changes % 1000);
        snapshot.set_guests({test::example_guest(uuid), test::example_guest("steady")});
        if (changes % 3 == 0) {
            reporter->changed();
        }
        ASSERT_EQ(reporter->state().remembered(), 0U);
        ASSERT_EQ(link.open_streams, 0U);
    };

    run_until_the_time_is_up(pacer);

    // One attempt in 5 to 10 s once the back-off has grown, however often something changes.
    EXPECT_GE(link.opened, 72U * 3600 / 10);
    EXPECT_LE(link.opened, 72U * 3600 / 5 + 10);
    EXPECT_EQ(metrics.reconnects.Value(), static_cast<double>(link.opened - 1));
    EXPECT_EQ(snapshot.guests().size(), 2U);
    EXPECT_FALSE(was_connected);
}

TEST_F(ReporterTest, RetriesSlowlyAtAnAggregatorThatAcceptsAndThenBreaksOff) {
    link.patience = 2;
    FakePacer pacer(loop, 1h);

    run_until_the_time_is_up(pacer);

    EXPECT_LE(link.opened, 3600U / 5);
    EXPECT_EQ(link.open_streams, 0U);
    EXPECT_THAT(std::vector<std::size_t>(link.kinds.begin(), link.kinds.begin() + 4),
                testing::ElementsAre(0, 1, 0, 1));
}

TEST_F(ReporterTest, EvacuationsAreToldAfterTheHelloAndBeforeReports) {
    test::FakeLaunchers launchers;
    launchers.say("p1", test::domain_of("a", true));
    test::FakeClock clock;
    EvacuationMetrics counted(registry);
    Evacuations all({.node = "n"}, clock, counted, [] {});
    evacuations = &all;
    link.patience = 6;
    link.requests = {Welcome{}, EvacuationRules{.mode = EvacuationMode::act}};
    FakePacer pacer(loop, 1h);
    pacer.on_wait = [&] { all.turn(launchers.launchers()); };

    run_until_the_time_is_up(pacer);

    const std::size_t told = Message{EvacuationsMessage{}}.index();
    const std::size_t ordered = Message{EvacuationOrderMessage{}}.index();
    ASSERT_GE(link.kinds.size(), 6U);
    EXPECT_EQ(link.kinds.front(), Message{HelloMessage{}}.index());
    const auto first = std::find(link.kinds.begin(), link.kinds.end(), told);
    ASSERT_NE(first, link.kinds.end());
    EXPECT_LT(first, std::find(link.kinds.begin(), link.kinds.end(), ordered));
    // Whether virt-handler is answered, once the leader is heard, and then the launcher; each
    // stream but the first says nothing of them until the leader is heard on it.
    EXPECT_EQ(std::count(link.kinds.begin(), link.kinds.end(), told), 2);
    EXPECT_TRUE(all.rules());
}

TEST_F(ReporterTest, PressureIsToldAfterTheReportAndAnewOnEachStream) {
    PressureTeller teller;
    teller.take({});
    pressure = &teller;
    link.patience = 4;
    FakePacer pacer(loop, 1h);

    run_until_the_time_is_up(pacer);

    const std::size_t told = Message{PressureMessage{}}.index();
    ASSERT_GE(link.kinds.size(), 8U);
    EXPECT_THAT(std::vector<std::size_t>(link.kinds.begin(), link.kinds.begin() + 3),
                testing::ElementsAre(0, 1, told));
    EXPECT_NE(link.kinds[3], told) << "nothing new";
    EXPECT_EQ(link.kinds[6], told);
}

TEST_F(ReporterTest, StandingsOfLaunchersGoToWhoWantsThem) {
    std::vector<migration::PodStandings> taken;
    take_standings = [&taken](auto standings) { taken.push_back(std::move(standings)); };
    link.patience = 4;
    const migration::PodStandings told{{"u", {.priority = 5, .memory_request = 7}}};
    link.requests = {Welcome{}, told, migration::PodStandings{}};
    FakePacer pacer(loop, 1h);

    run_until_the_time_is_up(pacer);

    EXPECT_THAT(taken, testing::ElementsAre(told, migration::PodStandings{}));
}

/// What is logged while it is in scope.
class LogOf {
public:
    LogOf() : before_(spdlog::default_logger()) {
        spdlog::set_default_logger(std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)));
    }
    ~LogOf() { spdlog::set_default_logger(before_); }
    LogOf(const LogOf&) = delete;
    LogOf& operator=(const LogOf&) = delete;
    LogOf(LogOf&&) = delete;
    LogOf& operator=(LogOf&&) = delete;
    [[nodiscard]] std::string text() const { return lines_.str(); }

private:
    std::shared_ptr<spdlog::logger> before_;
    std::ostringstream lines_;
};

class ReporterLogTest : public ReporterTest {
protected:
    /// What an hour without a report looks like.
    std::string told() {
        loop.restart();
        const LogOf log;
        FakePacer pacer(loop, 1h);
        run_until_the_time_is_up(pacer);
        return log.text();
    }
    static std::size_t count(const std::string& text, const std::string& what) {
        std::size_t found = 0;
        for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
            ++found;
        }
        return found;
    }
};

TEST_F(ReporterLogTest, TellsARefusalFromAnAggregatorThatIsAway) {
    EXPECT_THAT(told(), HasSubstr("[warning] no reports are taken for now, trying again "
                                  "reason=\"connection refused\""));
    for (const auto code : {Errc::refused, Errc::invalid, Errc::not_found, Errc::internal}) {
        link.end = {code, "give it another name"};
        const auto text = told();
        EXPECT_THAT(text, HasSubstr("[error] the aggregator refuses this agent's reports, trying "
                                    "again reason=\"give it another name\" to_do="));
        EXPECT_EQ(count(text, "trying again"), 1U);
    }
}

TEST_F(ReporterLogTest, OwnFailuresAreNotPutOnTheAggregator) {
    for (const auto code : {Errc::not_found, Errc::unavailable}) {
        link.cannot_open = Error{code, "/nope/ca: No such file"};
        const auto text = told();
        EXPECT_THAT(text, HasSubstr("[error] this agent cannot report, trying again "
                                    "reason=\"/nope/ca: No such file\" to_do="));
        EXPECT_EQ(count(text, "trying again"), 1U);
    }
    link.cannot_open.reset();
    link.send_throws = true;
    EXPECT_THAT(told(), HasSubstr("[error] this agent cannot report, trying again "
                                  "reason=\"no such length\""));
}

TEST_F(ReporterLogTest, ReasonThatIsAnotherEachTimeIsToldOnceAMinute) {
    link.on_open = [this] {
        link.end = {Errc::refused, "heard of " + std::to_string(link.opened) + " s ago"};
    };

    const auto errors = count(told(), "[error]");

    EXPECT_GE(link.opened, 360U);
    EXPECT_GE(errors, 50U);
    EXPECT_LE(errors, 60U);
}

TEST_F(ReporterLogTest, RefusalAfterEachWelcomeIsToldOnceAMinute) {
    link.patience = 1;
    link.end = {Errc::refused, "a report like this is refused"};
    link.on_open = [this] { link.requests = {Welcome{}}; };

    const auto text = told();

    EXPECT_GE(count(text, "the aggregator takes reports"), 100U);
    EXPECT_LE(count(text, "[error]"), 60U);
}

TEST_F(ReporterTest, IsBackBeforeItsNodeIsStaleHoweverLongTheAggregatorWasAway) {
    for (const auto outage : {10s, 30s, 45s, 60s, 3600s}) {
        FakePacer pacer(loop, 2h);
        const auto return_at = pacer.now() + outage;
        std::optional<SteadyTime> back;
        link.patience = 0;
        link.on_open = [&] {
            if (pacer.now() >= return_at && !back) {
                link.patience = 1'000'000;
                back = pacer.now();
            }
        };
        loop.restart();

        run_until_the_time_is_up(pacer);

        ASSERT_TRUE(back);
        // gRPC's own wait comes on top, 12 s at most; stale is what was not heard of for 35 s.
        EXPECT_LE(*back - return_at, 10s) << outage.count();
        EXPECT_FALSE(link.kinds.empty());
    }
}

TEST_F(ReporterTest, SendsTheProfileAndTheFullReportWhenAsked) {
    link.patience = 1'000'000;
    link.requests = {Welcome{}, WantProfile{.digest = "d1"}, WantFull{}};
    FakePacer pacer(loop, 1h);

    run_until_the_time_is_up(pacer);

    constexpr std::size_t full = 1;
    constexpr std::size_t heartbeat = 3;
    constexpr std::size_t profile = 4;
    EXPECT_EQ(std::count(link.kinds.begin(), link.kinds.end(), profile), 1);
    EXPECT_GE(std::count(link.kinds.begin(), link.kinds.end(), full), 1);
    EXPECT_GE(std::count(link.kinds.begin(), link.kinds.end(), heartbeat), 4);
    EXPECT_TRUE(was_connected);
    EXPECT_EQ(link.opened, 1U);
}

TEST(LoopPacerTest, WakesEarlyAlsoIfWokenBefore) {
    asio::io_context loop{1};
    const SystemClock clock;
    LoopPacer pacer(loop.get_executor(), clock);
    const auto begun = clock.steady();

    pacer.wake();
    test::run_to_end(loop, pacer.wait_until(begun + 1h));
    asio::post(loop, [&] { pacer.wake(); });
    test::run_to_end(loop, pacer.wait_until(begun + 1h));

    EXPECT_LT(clock.steady() - begun, 1min);
}

}  // namespace
}  // namespace scout::agent
