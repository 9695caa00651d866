// SPDX-License-Identifier: Apache-2.0
// The way to a real API server, and what is behind it, fail under a whole aggregator.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/label_plan.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/kube/fault_proxy.h"
#include "tests/support/relay.h"
#include "tests/support/temporary_folder.h"

namespace scout::aggregator {
namespace {

using scout::test::FaultProxy;
using scout::test::Relay;
using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class BedFaultsTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        // How long it is waited between tries is of no matter here.
        following.backoff = {50ms, 500ms};
    }

    /// Runs the loop until it holds; false as well if `side` did not lead all the time.
    [[nodiscard]] bool run_leading(const ClusterSide& side,
                                   const std::function<bool()>& condition) {
        bool led = true;
        return run_until([&] {
                   led = led && side.facts().leads;
                   return condition();
               }) &&
               led;
    }
    /// Nodes of other tests are as they should be, so that what is written is of this one.
    void settle_others() {
        auto side = start(access, new_space());
        ASSERT_TRUE(settle(*side));
        stop(std::move(side));
    }
    /// How often the proxy passed a write of each node on, the same value or not.
    [[nodiscard]] static std::map<std::string, int> writes_by_node(const FaultProxy& proxy) {
        constexpr std::string_view nodes = "/api/v1/nodes/";
        std::map<std::string, int> writes;
        for (const auto& call : proxy.passed()) {
            if (call.method == "PATCH" && call.target.starts_with(nodes)) {
                ++writes[call.target.substr(nodes.size(), call.target.find('?') - nodes.size())];
            }
        }
        return writes;
    }
    [[nodiscard]] static int writes_of(const FaultProxy& proxy, const std::string& node) {
        return writes_by_node(proxy)[node];
    }
};

/// Until leadership is over: what is away for longer is not more away.
TEST_F(BedFaultsTest, WhileTheServerIsGoneAllStaysAsItIs) {
    make_node("gone", "a", "x");
    make_node("gone", "b", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    const auto before = std::pair(version("gone-a"), version("gone-b"));

    bed->stop("apiserver");
    ASSERT_TRUE(run_until([&] { return !side->facts().leads; }));
    EXPECT_THAT(side->facts().trouble, AllOf(HasSubstr("list nodes"), HasSubstr("refused")));
    EXPECT_TRUE(side->facts().synced);
    bed->start("apiserver");
    ASSERT_TRUE(run_until([&] { return side->facts().kinds.front().trouble.empty(); }));
    ASSERT_TRUE(settle(*side));

    EXPECT_EQ(std::pair(version("gone-a"), version("gone-b")), before);
    EXPECT_EQ(side->facts().labels_failed, 0U);
    label("gone-b", "kubevirt.io/schedulable", "false");
    EXPECT_TRUE(run_until([&] { return level("gone-a") == "0" && level("gone-b") == "none"; }));
    stop(std::move(side));
}

/// The server answers a watch from a version that its store has not reached with silence.
TEST_F(BedFaultsTest, AStoreThatWasSetBackToABackupIsFollowedAtOnce) {
    make_node("backup", "a", "x");
    auto side = start(access, new_space());
    ASSERT_TRUE(settle(*side));
    const auto store = bed->kubeconfig().parent_path() / "etcd";
    const scout::test::TemporaryFolder backup;
    const auto exchange_store = [&](const fs::path& from, const fs::path& to) {
        bed->stop("apiserver");
        bed->stop("etcd");
        fs::remove_all(to);
        fs::copy(from, to, fs::copy_options::recursive);
        bed->start("etcd");
        bed->start("apiserver");
    };
    exchange_store(store, backup.path() / "etcd");
    make_node("backup", "b", "x");
    ASSERT_TRUE(run_until([&] { return level("backup-a") == "100"; }));
    ASSERT_TRUE(settle(*side));

    exchange_store(backup.path() / "etcd", store);
    ASSERT_EQ(level("backup-a"), "0");
    make_node("backup", "c", "y");
    ASSERT_TRUE(run_until([&] { return level("backup-c") == "0"; }));
    ASSERT_TRUE(settle(*side));

    EXPECT_EQ(level("backup-a"), "0");
    stop(std::move(side));
}

TEST_F(BedFaultsTest, ErrorsOfTheServerAreNamedAndCostOneWriteANodeInTheEnd) {
    make_node("errors", "a", "x");
    make_node("errors", "b", "x");
    following.watch_timeout = 2s;
    FaultProxy proxy(loop, access);
    auto side = start(proxy.access(), new_space());
    ASSERT_TRUE(settle(*side));
    const auto before = writes_of(proxy, "errors-a");

    proxy.decide([](const auto& /*call*/) { return FaultProxy::Fate{.status = 500}; });
    label("errors-b", "kubevirt.io/schedulable", "false");
    ASSERT_TRUE(run_until([&] {
        const auto facts = side->facts();
        return facts.labels_out_of_step == 2 &&
               facts.trouble.find(" nodes: HTTP 500") != std::string::npos;
    }));
    EXPECT_EQ(level("errors-a"), "100");
    proxy.decide([](const auto& /*call*/) { return FaultProxy::Fate{}; });
    ASSERT_TRUE(run_until([&] { return level("errors-a") == "0" && level("errors-b") == "none"; }));
    ASSERT_TRUE(settle(*side));

    EXPECT_EQ(writes_of(proxy, "errors-a"), before + 1);
    EXPECT_TRUE(run_until([&] { return side->facts().kinds.front().trouble.empty(); }));
    stop(std::move(side));
}

TEST_F(BedFaultsTest, AServerThatNeedsFiveSecondsForEachCallHasALeaderAndRightLabels) {
    settle_others();
    make_node("slow", "a", "x");
    make_node("slow", "b", "x");
    FaultProxy proxy(loop, access);
    proxy.decide([](const auto& /*call*/) { return FaultProxy::Fate{.delay = 5s}; });

    auto side = start(proxy.access(), new_space());
    ASSERT_TRUE(run_until([&] { return side->facts().leads; }));
    EXPECT_TRUE(
        run_leading(*side, [&] { return level("slow-a") == "100" && level("slow-b") == "100"; }));

    EXPECT_EQ(writes_of(proxy, "slow-a"), 1);
    proxy.decide([](const auto& /*call*/) { return FaultProxy::Fate{}; });
    stop(std::move(side));
}

/// After a restart of the API server a dozen lists may take up all that goes on at once.
TEST_F(BedFaultsTest, TheLeaseWaitsBehindNothing) {
    make_node("lease", "a", "x");
    following.watch_timeout = 2s;
    FaultProxy proxy(loop, access);
    auto side = start(proxy.access(), new_space());
    ASSERT_TRUE(settle(*side));

    proxy.decide([](const auto& call) {
        if (call.target.find("/leases/") != std::string::npos) {
            return FaultProxy::Fate{};
        }
        const bool watches = call.target.find("watch=") != std::string::npos;
        return watches ? FaultProxy::Fate{.status = 500} : FaultProxy::Fate{.delay = 60s};
    });
    const auto long_enough = std::chrono::steady_clock::now() + 14s;  // a lease is kept for 12
    EXPECT_TRUE(
        run_leading(*side, [&] { return std::chrono::steady_clock::now() >= long_enough; }));

    proxy.decide([](const auto& /*call*/) { return FaultProxy::Fate{}; });
    stop(std::move(side));
}

/// Nobody tells that the other end is gone.
TEST_F(BedFaultsTest, ConnectionsThatAreDeadAreReplacedAndLeadershipIsKept) {
    make_node("half", "a", "x");
    following.watch_timeout = 2s;
    following.silence_grace = 1s;
    Relay relay(loop.get_executor(), access.server.port);
    auto side = start(scout::test::by_way_of(access, relay.port()), new_space());
    ASSERT_TRUE(settle(*side));

    relay.freeze();
    make_node("half", "b", "x");
    relay.mend();

    EXPECT_TRUE(
        run_leading(*side, [&] { return level("half-a") == "100" && level("half-b") == "100"; }));
    stop(std::move(side));
}

TEST_F(BedFaultsTest, WhenLeadershipChangesInTheMiddleNoNodeIsWrittenTwice) {
    constexpr int many = 60;
    settle_others();
    for (int i = 0; i < many; ++i) {
        make_node("change", std::to_string(i), "x");
    }
    kube::Informer<kube::Node> nodes(*transport, clock, {.resource = kube::resources::nodes()},
                                     &kube::decode_node);
    std::map<std::string, int> changes;
    nodes.on_change([&changes](const auto& change) {
        if (change.before && change.now) {
            ++changes[change.now->meta.name];
        }
    });
    scout::test::Background background(loop);
    background.spawn([&nodes] { return nodes.run(); });
    ASSERT_TRUE(run_until([&] { return nodes.synced(); }));
    FaultProxy proxy(loop, access);
    const auto space = new_space();
    auto first = start(proxy.access(), space);
    ASSERT_TRUE(run_until([&] { return first->facts().leads; }));
    auto second = start(proxy.access(), space);

    ASSERT_TRUE(run_until([&] { return changes.size() >= 10; }));
    stop(std::move(first));
    ASSERT_LT(changes.size(), std::size_t{many});
    ASSERT_TRUE(run_until([&] { return changes.size() >= many; }));
    ASSERT_TRUE(settle(*second));

    for (const auto& [node, times] : changes) {
        EXPECT_EQ(times, 1) << node;
        EXPECT_EQ(level(node), "100") << node;
    }
    EXPECT_EQ(changes.size(), std::size_t{many});
    stop(std::move(second));
}

/// A leader in a process of its own, which is killed.
class Leader {
public:
    explicit Leader(const ClusterSettings& settings) : pid_(::fork()) {
        if (pid_ == 0) {
            lead(settings);
        }
    }
    ~Leader() { kill(); }
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    Leader(Leader&&) = delete;
    Leader& operator=(Leader&&) = delete;

    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(std::exchange(pid_, -1), nullptr, 0);
        }
    }

private:
    [[noreturn]] static void lead(const ClusterSettings& settings) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        asio::io_context loop{1};
        const SystemClock clock;
        ClusterSide side(loop.get_executor(), settings, clock);
        if (side.start()) {
            loop.run();
        }
        ::_exit(1);
    }

    pid_t pid_;
};

/// A write that was done when its process was killed is seen in the node by the next leader.
TEST_F(BedFaultsTest, WhenTheLeaderIsKilledInItsFirstFillAnotherEndsItWithinTwentySecondsMore) {
    constexpr int many = 300;
    settle_others();
    for (int i = 0; i < many; ++i) {
        make_node("killed", std::to_string(i), "x");
    }
    FaultProxy proxy(loop, access);
    const auto space = new_space();
    Leader leader(settings(proxy.access(), space));
    ASSERT_TRUE(run_until([&] { return !writes_by_node(proxy).empty(); }));
    auto side = start(proxy.access(), space);
    ASSERT_TRUE(run_until([&] { return writes_by_node(proxy).size() >= 30; }));

    leader.kill();
    ASSERT_LT(writes_by_node(proxy).size(), std::size_t{many});
    // The fixture waits for twenty seconds.
    ASSERT_TRUE(run_until([&] { return side->facts().leads; }));
    ASSERT_TRUE(settle(*side));

    // What was under way when it was killed may have come to nothing.
    std::size_t twice = 0;
    for (const auto& [node, times] : writes_by_node(proxy)) {
        EXPECT_LE(times, 2) << node;
        twice += times > 1 ? 1U : 0U;
    }
    EXPECT_LE(twice, cluster::LabelPlanRules{}.under_way);
    EXPECT_EQ(writes_by_node(proxy).size(), std::size_t{many});
    for (int i = 0; i < many; ++i) {
        const auto node = "killed-" + std::to_string(i);
        EXPECT_EQ(level(node), "100") << node;
        // Other tests change the levels of all nodes there are.
        done(client->remove(target(node), {}));
    }
    stop(std::move(side));
}

}  // namespace
}  // namespace scout::aggregator
