// SPDX-License-Identifier: Apache-2.0
#include <boost/json/array.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/causes_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::Cause;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* pod = "virt-launcher-web-abcde";

class LauncherEndsTest : public CausesFixture {
protected:
    /// The launcher runs on n1, and is seen to.
    void run_launcher() {
        put_node("n1");
        api.put("pods", launcher(pod, {{"phase", "Running"}}));
        start_causes();
    }
    void end_launcher(json::object status) { api.put("pods", launcher(pod, std::move(status))); }
    [[nodiscard]] static json::object ended(const char* phase, int code,
                                            const char* reason = "Error") {
        return {{"phase", phase},
                {"containerStatuses",
                 {{{"name", "compute"},
                   {"state",
                    {{"terminated",
                      {{"exitCode", code},
                       {"reason", reason},
                       {"finishedAt", "2024-12-18T00:00:30Z"}}}}}}}}};
    }
    [[nodiscard]] static json::object evicted() {
        auto status = ended("Failed", 137);
        status["reason"] = "Evicted";
        status["message"] = "The node was low on resource: memory. Threshold quantity: 100Mi.";
        return status;
    }
    /// Once it was judged.
    [[nodiscard]] const KeptEnd* judged() {
        EXPECT_TRUE(run_until([this] { return history.end_of_pod("shop", pod) != nullptr; }));
        settle();
        return history.end_of_pod("shop", pod);
    }
    [[nodiscard]] std::uint64_t all_ends() const {
        std::uint64_t sum = 0;
        for (const auto number : launcher_ends->counters()) {
            sum += number;
        }
        return sum;
    }
};

TEST_F(LauncherEndsTest, WhatItsNodeKilledIsKeptCountedAndToldOnTheVmi) {
    run_launcher();
    end_launcher(evicted());

    const auto* const end = judged();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->answer.cause, Cause::node_pressure);
    EXPECT_EQ(end->answer.resource, "memory");
    EXPECT_EQ(end->node, "n1");
    EXPECT_EQ(end->phase, "Failed");
    ASSERT_TRUE(end->ended);
    EXPECT_EQ(ends(Cause::node_pressure), 1U);
    ASSERT_TRUE(run_until([this] { return !told("LauncherEnded").empty(); }));
    EXPECT_THAT(told("LauncherEnded"),
                ElementsAre(AllOf(HasSubstr("web: its launcher virt-launcher-web-abcde on n1"),
                                  HasSubstr("node-pressure, memory; pod status Evicted"))));
    // The pod goes, and that is no other end.
    api.remove("pods", pod);
    settle();
    EXPECT_EQ(all_ends(), 1U);
    EXPECT_EQ(told("LauncherEnded").size(), 1U);
}

TEST_F(LauncherEndsTest, OfWhatTheObjectsTellNoEventsAreAsked) {
    run_launcher();
    api.forget_calls();
    end_launcher(evicted());

    ASSERT_NE(judged(), nullptr);
    EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(LauncherEndsTest, AKillThatEventsAloneTellOfIsFound) {
    run_launcher();
    put_event(std::string{"Pod/"} + pod, "Killing",
              "Container compute failed liveness probe, will be restarted");
    end_launcher(ended("Failed", 143));

    const auto* const end = judged();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->answer.cause, Cause::liveness);
    EXPECT_EQ(ends(Cause::liveness), 1U);
    ASSERT_TRUE(run_until([this] { return !told("LauncherEnded").empty(); }));
    EXPECT_THAT(told("LauncherEnded"), ElementsAre(HasSubstr("liveness")));
}

TEST_F(LauncherEndsTest, WhatItsOwnerDeletedIsKeptAndNotTold) {
    run_launcher();
    put_vmi("web", "n1", {}, {{"deletionTimestamp", now()}});
    api.put("pods", launcher(pod, {{"phase", "Running"}}, {{"deletionTimestamp", now()}}));
    settle();
    EXPECT_EQ(all_ends(), 0U);
    // All go before it is judged.
    api.put("pods",
            launcher(pod, ended("Succeeded", 0, "Completed"), {{"deletionTimestamp", now()}}));
    api.remove("pods", pod);
    api.remove("virtualmachineinstances", "web");

    const auto* const end = judged();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->answer.cause, Cause::owner_delete);
    EXPECT_EQ(ends(Cause::owner_delete), 1U);
    EXPECT_THAT(told("LauncherEnded"), IsEmpty());
}

TEST_F(LauncherEndsTest, WhatItsGuestEndedIsKeptAndNotTold) {
    run_launcher();
    put_event("VirtualMachineInstance/web", "Stopped", "The VirtualMachineInstance was shut down.");
    end_launcher(ended("Succeeded", 0, "Completed"));

    const auto* const end = judged();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->answer.cause, Cause::guest_shutdown);
    EXPECT_EQ(ends(Cause::guest_shutdown), 1U);
    EXPECT_THAT(told("LauncherEnded"), IsEmpty());
}

/// KubeVirt says the same of a guest that crashed.
TEST_F(LauncherEndsTest, ALauncherThatWasLostIsTold) {
    run_launcher();
    put_event("VirtualMachineInstance/web", "Stopped", "The VirtualMachineInstance crashed.");
    end_launcher(ended("Failed", 255, "Unknown"));

    const auto* const end = judged();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->answer.cause, Cause::unknown);
    EXPECT_EQ(ends(Cause::unknown), 1U);
    ASSERT_TRUE(run_until([this] { return !told("LauncherEnded").empty(); }));
    EXPECT_THAT(told("LauncherEnded"), ElementsAre(HasSubstr("crashed")));
}

TEST_F(LauncherEndsTest, TheSourceOfAMigrationIsCountedAsThat) {
    run_launcher();
    put_vmi(
        "web", "n2",
        {{"migrationState",
          {{"sourcePod", pod}, {"sourceNode", "n1"}, {"targetNode", "n2"}, {"completed", true}}}});
    end_launcher(ended("Succeeded", 0, "Completed"));

    ASSERT_TRUE(run_until([this] { return all_ends() == 1; }));
    EXPECT_EQ(launcher_ends->counters().back(), 1U);
    EXPECT_EQ(end_word(launcher_ends->counters().size() - 1), "migration");
    EXPECT_EQ(history.size(), 0U);
    EXPECT_THAT(told("LauncherEnded"), IsEmpty());
}

TEST_F(LauncherEndsTest, AMigrationThatIsNotToldToHaveEndedIsWaitedFor) {
    run_launcher();
    json::object state{{"sourcePod", pod}, {"sourceNode", "n1"}, {"targetNode", "n2"}};
    put_vmi("web", "n1", {{"migrationState", state}});
    end_launcher(ended("Succeeded", 0, "Completed"));
    settle();
    EXPECT_EQ(all_ends(), 0U);
    state["completed"] = true;
    put_vmi("web", "n2", {{"migrationState", state}});

    ASSERT_TRUE(run_until([this] { return all_ends() == 1; }));
    EXPECT_EQ(launcher_ends->counters().back(), 1U);
}

TEST_F(LauncherEndsTest, ATargetThatNeverTookOverIsNoLauncherOfTheVm) {
    run_launcher();
    put_move("m", "web", "Failed");
    auto target = launcher("virt-launcher-web-zzzzz", {{"phase", "Pending"}},
                           {{"labels", {{"kubevirt.io/migrationJobUID", "move m"}}}});
    api.put("pods", target);
    settle();
    target["metadata"].as_object()["deletionTimestamp"] = now();
    api.put("pods", target);
    api.remove("pods", "virt-launcher-web-zzzzz");
    // One that ends after it is judged after it.
    end_launcher(evicted());

    ASSERT_NE(judged(), nullptr);
    EXPECT_EQ(all_ends(), 1U);
    EXPECT_EQ(history.end_of_pod("shop", "virt-launcher-web-zzzzz"), nullptr);
}

TEST_F(LauncherEndsTest, WhatHadEndedBeforeIsKeptIfItIsYoungAndNotTold) {
    auto young = evicted();
    young["containerStatuses"]
        .as_array()[0]
        .at("state")
        .at("terminated")
        .as_object()["finishedAt"] = now();
    auto old = launcher("virt-launcher-web-older", evicted());
    old["status"]
        .as_object()["containerStatuses"]
        .as_array()[0]
        .at("state")
        .at("terminated")
        .as_object()["finishedAt"] = "2024-01-01T00:00:00Z";
    api.put("pods", old);
    api.put("pods", launcher("virt-launcher-web-moved", ended("Succeeded", 0, "Completed")));
    api.put("pods", launcher(pod, young));
    start_causes();

    ASSERT_NE(judged(), nullptr);
    EXPECT_EQ(history.size(), 1U);
    EXPECT_EQ(all_ends(), 0U);
    EXPECT_THAT(told("LauncherEnded"), IsEmpty());
}

TEST_F(LauncherEndsTest, OneThatDoesNotLeadKeepsAndSaysNothing) {
    run_launcher();
    lose_leadership();
    end_launcher(evicted());

    ASSERT_NE(judged(), nullptr);
    EXPECT_EQ(all_ends(), 0U);
    EXPECT_THAT(told("LauncherEnded"), IsEmpty());
}

}  // namespace
}  // namespace scout::aggregator
