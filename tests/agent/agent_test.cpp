// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report_stream.h"
#include "base/certificates.h"
#include "base/digest.h"
#include "tests/agent/report_server.h"
#include "tests/daemon/http_client.h"
#include "tests/daemon/https_client.h"
#include "tests/support/fake_hypervisor.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"
#include "wire/convert.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// An aggregator that takes everything, and signs.
class SigningLink final : public AggregatorLink {
public:
    Result<std::unique_ptr<ReportStream>> open() override {
        return std::make_unique<Stream>(authority_);
    }
    [[nodiscard]] const std::string& authority() const { return authority_.chain; }

private:
    class Stream final : public ReportStream {
    public:
        explicit Stream(const CertifiedKey& authority) : authority_(authority) {}

        Task<Status> send(Message message) override {
            if (const auto* request = std::get_if<SigningRequestMessage>(&message)) {
                const auto now = SystemClock{}.wall();
                answer_ =
                    SignedCertificate{.chain = sign_request(authority_, request->pem,
                                                            {.common_name = "agent",
                                                             .names = {"node-1"},
                                                             .validity = {now - 1h, now + 24h}})
                                                   .value(),
                                      .error = {}};
            }
            co_return Status{};
        }
        Task<Result<Request>> receive() override {
            asio::steady_timer timer(co_await asio::this_coro::executor);
            while (!answer_) {
                timer.expires_after(1ms);
                co_await timer.async_wait(as_result);
            }
            Request request = *std::exchange(answer_, std::nullopt);
            co_return request;
        }

    private:
        const CertifiedKey& authority_;
        std::optional<SignedCertificate> answer_;
    };

    CertifiedKey authority_ =
        make_authority("tests", {SystemClock{}.wall() - 1h, SystemClock{}.wall() + 24h}).value();
};

class AgentTest : public testing::Test {
protected:
    ~AgentTest() override {
        hypervisor.release();
        EXPECT_TRUE(pool.stop(5s));
    }

    void make(const std::string& aggregator = {}, const std::string& listen_https = {}) {
        if (!aggregator.empty()) {
            link = make_grpc_link(loop.get_executor(), wire::parse_endpoint(aggregator).value(),
                                  wire::Security{.tls = {}, .plaintext = true, .server_name = {}});
        }
        AgentOptions options{.node_name = "node-1",
                             .listen_http = "127.0.0.1:0",
                             .listen_https = listen_https,
                             .prober = {.host_root = root.path(),
                                        .state_dir = state.path(),
                                        .labeller_dir = labeller.path()},
                             .report = {},
                             .seed = 1};
        agent = std::make_unique<Agent>(std::move(options), AgentParts{.loop = loop.get_executor(),
                                                                       .clock = clock,
                                                                       .pool = pool,
                                                                       .probed = hypervisor,
                                                                       .watched = hypervisor,
                                                                       .link = link.get()});
    }
    /// Turns the loop until the condition holds, at most 10 s.
    Task<bool> eventually(std::function<bool()> condition) {
        asio::steady_timer timer(loop);
        for (int i = 0; i < 1000; ++i) {
            if (condition()) {
                co_return true;
            }
            timer.expires_after(10ms);
            co_await timer.async_wait(as_result);
        }
        co_return false;
    }
    void lose_hypervisor() {
        hypervisor.set_connection({.reach = hypervisor::Reach::unreachable,
                                   .since = WallTime{},
                                   .reason = "socket closed",
                                   .attempts = 1});
    }
    Task<> start_and_be_ready() {
        const auto started = co_await agent->start();
        EXPECT_TRUE(started);
        auto is_ready = [this] { return agent->health().ready(); };
        const bool ready = co_await eventually(is_ready);
        EXPECT_TRUE(ready);
    }
    Task<std::string> get(std::string path) {
        co_return co_await test::talk(agent->http_port(), test::get(path));
    }

    asio::io_context loop{1};
    SystemClock clock;
    BlockingPool pool{2};
    test::TemporaryFolder root;
    test::TemporaryFolder state;
    test::TemporaryFolder labeller;
    test::FakeHypervisor hypervisor{loop.get_executor(), pool};
    std::unique_ptr<AggregatorLink> link;
    std::unique_ptr<Agent> agent;
};

TEST_F(AgentTest, IsReadyOnceTheFirstProbeEndedAndShowsItsMetrics) {
    hypervisor.counted = {.reconnects = 2, .resyncs = 3, .stuck_calls = 4, .lost_events = 5};
    make();
    auto story = [&]() -> Task<> {
        EXPECT_FALSE(agent->health().ready());
        co_await start_and_be_ready();
        const auto readiness = co_await get("/readyz");
        const auto metrics = co_await get("/metrics");
        EXPECT_THAT(readiness, HasSubstr("200 OK"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_probes_total 1"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_hypervisor_connected 1"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_hypervisor_reconnects_total 2"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_hypervisor_resyncs_total 3"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_hypervisor_stuck_calls_total 4"));
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_hypervisor_lost_events_total 5"));
        EXPECT_EQ(agent->snapshot().host().source, "embedded");
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

TEST_F(AgentTest, ServesWithTheCertificateThatWasSignedForItsNode) {
    auto signing = std::make_unique<SigningLink>();
    const auto authority = signing->authority();
    link = std::move(signing);
    make({}, "127.0.0.1:0");
    auto story = [&]() -> Task<> {
        co_await start_and_be_ready();
        std::string answer;
        asio::steady_timer pause(loop);
        for (int i = 0; i < 1000 && answer.find("200 OK") == std::string::npos; ++i) {
            answer = co_await test::talk_tls(agent->https_port(), test::get("/metrics"), authority,
                                             "node-1");
            pause.expires_after(1ms);
            co_await pause.async_wait(as_result);
        }
        EXPECT_THAT(answer, HasSubstr("virt_scout_agent_serving_certificate_expires_seconds"));
        const auto other = co_await test::talk_tls(agent->https_port(), test::get("/metrics"),
                                                   authority, "node-2");
        EXPECT_THAT(other, testing::StartsWith("no TLS: "));
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

TEST_F(AgentTest, TellsNoReachOfGuestsThatAreNotWatched) {
    hypervisor.state.reach = hypervisor::Reach::not_kept;
    make();
    auto story = [&]() -> Task<> {
        co_await start_and_be_ready();
        const auto metrics = co_await get("/metrics");
        EXPECT_THAT(metrics, HasSubstr("virt_scout_agent_guests"));
        EXPECT_THAT(metrics, testing::Not(HasSubstr("hypervisor_connected")));
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

TEST_F(AgentTest, IsReadyWithAProbeThatFailedAndReportsTheError) {
    hypervisor.documents = fail(Errc::unavailable, "no driver for qemu");
    make();
    auto story = [&]() -> Task<> {
        co_await start_and_be_ready();
        EXPECT_EQ(agent->snapshot().host().probe_error, "no driver for qemu");
        EXPECT_EQ(agent->snapshot().host().profile_digest, "");
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

TEST_F(AgentTest, StopsWithinFiveSecondsWithAStuckHypervisorAndNoAggregator) {
    hypervisor.stuck = true;
    std::string nobody;
    {
        const test::ReportServer server;
        nobody = server.address();
    }
    make(nobody);
    const auto begun = clock.steady();
    auto story = [&]() -> Task<> {
        const auto started = co_await agent->start();
        EXPECT_TRUE(started);
        auto is_stuck = [&] { return hypervisor.is_stuck(); };
        const bool stuck = co_await eventually(is_stuck);
        EXPECT_TRUE(stuck);
        const auto readiness = co_await get("/readyz");
        EXPECT_THAT(readiness, HasSubstr("503"));
        co_await agent->stop();
    };
    test::run_to_end(loop, story());

    EXPECT_LT(clock.steady() - begun, 5s);
    // A look at the labeller's files may still be on its way home.
    EXPECT_TRUE(test::wait_until([this] { return pool.busy() == 1; }));
}

TEST_F(AgentTest, PicksUpTheLabellersFilesWhenTheyComeChangeAndGo) {
    make();
    auto story = [&]() -> Task<> {
        const auto model = [&]() -> std::string {
            const auto& host = agent->snapshot().host();
            return host.source + " " + (host.profile ? host.profile->host_model->name : "none");
        };
        const auto started = co_await agent->start();
        EXPECT_TRUE(started);
        bool seen = false;
        auto own = [&] { return model() == "embedded Skylake-Client"; };
        seen = co_await eventually(own);
        EXPECT_TRUE(seen) << model();
        labeller.write("virsh_domcapabilities.xml",
                       test::example_domain_capabilities("Broadwell", "vmx"));
        auto first_label = [&] { return model() == "labeller Broadwell"; };
        seen = co_await eventually(first_label);
        EXPECT_TRUE(seen) << model();
        labeller.write("virsh_domcapabilities.xml",
                       test::example_domain_capabilities("Haswell", "vmx"));
        auto second_label = [&] { return model() == "labeller Haswell"; };
        seen = co_await eventually(second_label);
        EXPECT_TRUE(seen) << model();
        labeller.write("virsh_domcapabilities.xml", "<half");
        auto told = [&] { return !agent->snapshot().host().probe_error.empty(); };
        seen = co_await eventually(told);
        EXPECT_TRUE(seen);
        EXPECT_EQ(model(), "labeller Haswell");
        std::filesystem::remove(labeller.path() / "virsh_domcapabilities.xml");
        auto own_again = [&] { return model() == "embedded Skylake-Client"; };
        seen = co_await eventually(own_again);
        EXPECT_TRUE(seen) << model();
        EXPECT_EQ(hypervisor.probes, 1U);
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

std::vector<test::v1::AggregatorMessage> want_profile(const test::v1::AgentMessage& message) {
    std::vector<test::v1::AggregatorMessage> replies;
    if (message.has_hello()) {
        replies.emplace_back().mutable_welcome();
    } else if (message.has_full()) {
        replies.emplace_back().mutable_want_profile()->set_digest(message.full().profile_digest());
    }
    return replies;
}

void expect_skylake(const auto& told) {
    EXPECT_EQ(sha256_hex(told.profile()), told.digest());
    EXPECT_EQ(wire::decode_profile(told.profile())->host_model->name, "Skylake-Client");
}

TEST_F(AgentTest, ReportsItsProfileItsGuestsAndWhatHappensToThem) {
    test::ReportServer server;
    server.answer = &want_profile;
    hypervisor.running = {test::example_guest("u1")};
    make(server.address());
    std::optional<test::v1::AgentMessage> hello;
    std::optional<test::v1::AgentMessage> body;
    std::optional<test::v1::AgentMessage> away;
    std::optional<test::v1::AgentMessage> removed;
    std::atomic<bool> all_seen{false};
    std::thread observer([&] {
        hello = server.wait_for([](const auto& m) { return m.has_hello(); });
        body = server.wait_for([](const auto& m) { return m.has_profile(); });
        asio::post(loop, [&] { lose_hypervisor(); });
        away =
            server.wait_for([](const auto& m) { return !m.delta().host().guests_error().empty(); });
        asio::post(loop,
                   [&] { hypervisor.remove("u1", hypervisor::FoundBy::resync, WallTime{7s}); });
        removed = server.wait_for([](const auto& m) { return m.delta().removed_size() == 1; });
        all_seen = true;
    });
    auto story = [&]() -> Task<> {
        const auto started = co_await agent->start();
        EXPECT_TRUE(started);
        auto observed = [&] { return all_seen.load(); };
        const bool done = co_await eventually(observed);
        EXPECT_TRUE(done);
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
    observer.join();

    ASSERT_TRUE(hello && body && away && removed);
    EXPECT_EQ(hello->hello().node(), "node-1");
    EXPECT_EQ(hello->hello().host_identity().size(), 32U);
    expect_skylake(body->profile());
    EXPECT_EQ(removed->delta().removed(0).uuid(), "u1");
    EXPECT_EQ(removed->delta().removed(0).found_by(), "resync");
    EXPECT_EQ(removed->delta().removed(0).since_unix_ms(), 7000);
    EXPECT_THAT(away->delta().host().guests_error(), HasSubstr("socket closed"));
}

TEST_F(AgentTest, SaysInOneSentenceWhyItCannotStart) {
    state.write("file", "");
    AgentOptions options{.node_name = "n", .listen_http = "", .prober = {}, .report = {}};
    options.prober.state_dir = state.path() / "file" / "below";
    options.prober.host_root = root.path();
    agent = std::make_unique<Agent>(options, AgentParts{.loop = loop.get_executor(),
                                                        .clock = clock,
                                                        .pool = pool,
                                                        .probed = hypervisor,
                                                        .watched = hypervisor,
                                                        .link = nullptr});
    auto story = [&]() -> Task<> {
        const auto started = co_await agent->start();
        EXPECT_FALSE(started);
        EXPECT_THAT(started.error().message, HasSubstr("state-dir"));
        co_await agent->stop();
    };
    test::run_to_end(loop, story());
}

}  // namespace
}  // namespace scout::agent
