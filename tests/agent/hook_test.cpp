// SPDX-License-Identifier: Apache-2.0
// The node hook as virt-handler calls it: over a real unix socket, a connection for each call.
#include <future>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/stat.h>

#include "agent/protection.h"
#include "kubevirt/node_hook.grpc.pb.h"
#include "tests/agent/fake_launchers.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace hooks = kubevirt::hooks::plugins::v1alpha1;

/// A VMI as virt-handler has it: without kind and apiVersion.
std::string vmi_json(const std::string& uid, const std::string& more_meta = {},
                     const std::string& phase = "Running") {
    return R"({"metadata":{"name":"a","namespace":"shop","uid":")" + uid + "\"" + more_meta +
           R"(},"spec":{"evictionStrategy":"LiveMigrate"},"status":{"phase":")" + phase +
           R"(","nodeName":"n1","activePods":{"p9":"n1"},)"
           R"("conditions":[{"type":"LiveMigratable","status":"True"}]}})";
}

class HookTest : public testing::Test {
protected:
    HookTest() { serve(); }
    ~HookTest() override {
        stop();
        EXPECT_TRUE(pool.stop(5s));
    }

    void serve() {
        registry = std::make_unique<prometheus::Registry>();
        Protection::Options options{.evacuations = {.node = "n1"}, .hook_socket = socket};
        protection = std::make_unique<Protection>(std::move(options),
                                                  Protection::Parts{.loop = loop.get_executor(),
                                                                    .clock = clock,
                                                                    .pool = pool,
                                                                    .launchers = launchers,
                                                                    .registry = *registry,
                                                                    .has_leader = false,
                                                                    .tell = [] {}});
        scope.emplace(loop.get_executor());
        work.emplace(loop.get_executor());
        loop.restart();
        thread = std::thread([this] { loop.run(); });
        on_loop([this] { protection->spawn(*scope); });
        EXPECT_TRUE(test::wait_until([this] { return is_socket(); }));
    }
    void stop() {
        if (!thread.joinable()) {
            return;
        }
        auto all = [this]() -> Task<> {
            co_await scope->close();
            co_await protection->stop();
        };
        std::promise<void> done;
        asio::co_spawn(loop, all(), [&done](const std::exception_ptr&) { done.set_value(); });
        done.get_future().wait();
        work.reset();
        thread.join();
        protection.reset();
    }
    void on_loop(const std::function<void()>& fn) {
        std::promise<void> done;
        asio::post(loop, [&] {
            fn();
            done.set_value();
        });
        done.get_future().wait();
    }
    void hear_rules() {
        on_loop([this] {
            protection->evacuations().heard_leader();
            protection->evacuations().take(EvacuationRules{.mode = EvacuationMode::act});
        });
    }
    void say(const std::string& pod, const launcher::Domain& domain) {
        on_loop([&] { launchers.say(pod, domain); });
    }
    [[nodiscard]] bool is_socket() const {
        struct stat info{};
        return ::lstat(socket.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
    }
    grpc::Status call(const std::string& vmi, const std::string& point = "PreVMStop",
                      const std::string& node = "n1") {
        grpc::ChannelArguments arguments;
        arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        arguments.SetMaxSendMessageSize(-1);
        const auto stub = hooks::NodeHookService::NewStub(grpc::CreateCustomChannel(
            "unix://" + socket, grpc::InsecureChannelCredentials(), arguments));
        hooks::ExecuteNodeHookRequest request;
        request.set_hookpoint(point);
        request.set_vmi(vmi);
        request.mutable_node_context()->set_node_name(node);
        hooks::ExecuteNodeHookResponse response;
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10s);
        return stub->ExecuteNodeHook(&context, request, &response);
    }
    [[nodiscard]] std::string metrics() const {
        return prometheus::TextSerializer().Serialize(registry->Collect());
    }

    test::TemporaryFolder folder;
    std::string socket = folder.path() / "plugins" / "virt-scout.sock";
    asio::io_context loop{1};
    SystemClock clock;
    BlockingPool pool{2};
    test::FakeLaunchers launchers;
    std::unique_ptr<prometheus::Registry> registry;
    std::unique_ptr<Protection> protection;
    std::optional<TaskScope> scope;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
    std::thread thread;
};

TEST_F(HookTest, MarkedVmIsHeldWithWordsAndOthersAreNot) {
    hear_rules();
    say("p1", test::domain_of("a", true));
    say("p2", test::domain_of("b", false));

    const auto held = call(vmi_json("uid-a"));
    EXPECT_EQ(held.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(held.error_message(), HasSubstr("virt-scout moves this VM first: deciding"));
    EXPECT_THAT(held.error_message(), HasSubstr("its guest may stop in 34."));
    EXPECT_TRUE(call(vmi_json("uid-b")).ok());
    EXPECT_THAT(metrics(), HasSubstr(R"(virt_scout_agent_hook_calls_total{answer="vetoed"} 1)"));
    EXPECT_THAT(metrics(), HasSubstr(R"(virt_scout_agent_hook_calls_total{answer="allowed"} 1)"));
}

TEST_F(HookTest, LauncherIsAskedWhenItIsNotKnownToBeMarked) {
    hear_rules();
    say("p1", test::domain_of("a", false));
    on_loop(
        [this] { launchers.on_ask = [this] { launchers.say("p1", test::domain_of("a", true)); }; });
    EXPECT_FALSE(call(vmi_json("uid-a")).ok());
    EXPECT_FALSE(call(vmi_json("uid-a")).ok());
    on_loop([this] { EXPECT_EQ(launchers.asked, 1U) << "marked by then"; });
}

TEST_F(HookTest, LauncherIsFoundByThePodsOfTheVmi) {
    hear_rules();
    on_loop([this] {
        launchers.appear("p9");
        launchers.on_ask = [this] { launchers.say("p9", test::domain_of("a", true)); };
    });
    EXPECT_FALSE(call(vmi_json("uid-a")).ok());
}

TEST_F(HookTest, LauncherThatNeedsItsTimeIsAskedAgainAndNotForEver) {
    hear_rules();
    on_loop([this] { launchers.appear("p9"); });
    say("p2", test::domain_of("b", true));
    on_loop([this] { launchers.hangs = true; });
    const auto begun = clock.steady();
    const auto held = call(vmi_json("uid-a"));
    EXPECT_FALSE(held.ok());
    EXPECT_THAT(held.error_message(), HasSubstr("has not said whether it was told to stop"));
    EXPECT_LT(clock.steady() - begun, 2s);
    EXPECT_FALSE(call(vmi_json("uid-b")).ok());
    EXPECT_TRUE(test::wait_until([this] { return call(vmi_json("uid-a")).ok(); }));
    EXPECT_GE(clock.steady() - begun, Evacuations::silent_limit);
    EXPECT_LT(clock.steady() - begun, 2 * Evacuations::silent_limit);
}

TEST_F(HookTest, LauncherThatAnswersLateIsHeardAtTheNextQuestion) {
    hear_rules();
    on_loop([this] { launchers.appear("p9"); });
    on_loop([this] { launchers.hangs = true; });
    ASSERT_FALSE(call(vmi_json("uid-a")).ok());
    say("p9", test::domain_of("a", true));
    const auto held = call(vmi_json("uid-a"));
    EXPECT_FALSE(held.ok());
    EXPECT_THAT(held.error_message(), testing::Not(HasSubstr("has not said")));
}

TEST_F(HookTest, HowFastItsGuestWritesIsMeasuredOfWhoIsToldToStop) {
    on_loop([this] {
        launchers.numbers = launcher::DomainStats{};
        launchers.rate = 20;
    });
    hear_rules();
    say("p1", test::domain_of("a", false));
    EXPECT_TRUE(call(vmi_json("uid-a")).ok());
    EXPECT_EQ(launchers.rated, 0U);
    say("p1", test::domain_of("a", true));
    EXPECT_FALSE(call(vmi_json("uid-a")).ok());
    EXPECT_TRUE(test::wait_until([this] {
        unsigned rated = 0;
        on_loop([this, &rated] { rated = launchers.rated; });
        return rated == 1;
    }));
}

TEST_F(HookTest, WhatIsNotUnderstoodIsAllowed) {
    hear_rules();
    say("p1", test::domain_of("a", true));
    const auto good = vmi_json("uid-a");
    EXPECT_TRUE(call("").ok());
    EXPECT_TRUE(call("{").ok());
    EXPECT_TRUE(call("[]").ok());
    EXPECT_TRUE(call(R"({"metadata":{}})").ok());
    EXPECT_TRUE(call(R"({"metadata":{"uid":7}})").ok());
    EXPECT_TRUE(call(std::string("\xff\xfe\0", 3)).ok());
    EXPECT_TRUE(call(vmi_json("uid-z")).ok());
    EXPECT_TRUE(call(good, "PreVMStop", "n2").ok());
    EXPECT_TRUE(call(good, "PreVMStop", "").ok());
    EXPECT_TRUE(call(std::string(50U << 20U, 'x')).ok());
    EXPECT_THAT(metrics(), HasSubstr(R"({answer="not-understood"} 10)"));
    EXPECT_FALSE(call(good).ok());
}

TEST_F(HookTest, OtherHookPointsAndOtherStopsAreAllowed) {
    hear_rules();
    say("p1", test::domain_of("a", true));
    const auto good = vmi_json("uid-a");
    for (const auto* point : {"PreVMStart", "PostVMStart", "PostVMStop", "PreMigrationSource",
                              "PreMigrationTarget", "PostMigrationTarget", ""}) {
        EXPECT_TRUE(call(good, point).ok()) << point;
    }
    EXPECT_TRUE(call(vmi_json("uid-a", R"(,"deletionTimestamp":"2026-11-29T01:02:03Z")")).ok());
    EXPECT_TRUE(call(vmi_json("uid-a", "", "Succeeded")).ok());
    // Of a VMI that is gone virt-handler has a name only.
    EXPECT_TRUE(call(R"({"metadata":{"name":"a","namespace":"shop","uid":"uid-a"}})").ok());
    EXPECT_FALSE(call(good).ok());
}

TEST_F(HookTest, SocketIsOursAloneAndComesBackWhenItIsTakenAway) {
    struct stat info{};
    ASSERT_EQ(::lstat(socket.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    std::filesystem::remove_all(folder.path() / "plugins");
    EXPECT_TRUE(test::wait_until([this] { return is_socket(); }));
    EXPECT_TRUE(call("").ok());

    stop();
    EXPECT_FALSE(is_socket());
    EXPECT_EQ(call("").error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HookTest, StaleSocketIsReplacedAndAnotherFileIsNot) {
    stop();
    {
        asio::io_context other;
        asio::local::stream_protocol::acceptor left(other,
                                                    asio::local::stream_protocol::endpoint(socket));
    }
    ASSERT_TRUE(is_socket());
    serve();
    EXPECT_TRUE(test::wait_until([this] { return call("").ok(); }));

    stop();
    folder.write("plugins/virt-scout.sock", "theirs");
    registry = std::make_unique<prometheus::Registry>();
    hooks::NodeHookService::Service plain;
    HookServer server(loop.get_executor(), socket, plain);
    auto story = [&]() -> Task<> {
        TaskScope running(loop.get_executor());
        running.spawn("server", [&] { return server.run(); });
        asio::steady_timer timer(loop, 100ms);
        co_await timer.async_wait(as_result);
        EXPECT_THAT(server.trouble(), HasSubstr("a file that is no socket is there"));
        co_await running.close();
        co_await server.stop(&pool);
    };
    test::run_until_done(loop, story());
    EXPECT_TRUE(std::filesystem::is_regular_file(socket));
}

}  // namespace
}  // namespace scout::agent
