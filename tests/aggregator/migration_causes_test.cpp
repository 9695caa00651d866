// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/causes_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::Requester;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* evacuation = "kubevirt-evacuation-x";

class MigrationCausesTest : public CausesFixture {
protected:
    void evacuate(json::object status = {{"phase", "Pending"}}, json::object annotations = {}) {
        annotations["kubevirt.io/evacuationMigration"] = "n1";
        put_full_move(evacuation, {{"annotations", std::move(annotations)}},
                      {{"priority", "system-critical"}}, std::move(status));
    }
    /// The launcher that is left was deleted, or ended by its kubelet, for that reason.
    void end_source(const std::string& reason, const std::string& since, const char* message = "",
                    const char* phase = "Running") {
        const json::object told{{"type", "DisruptionTarget"},
                                {"status", "True"},
                                {"reason", reason},
                                {"message", message},
                                {"lastTransitionTime", since}};
        json::object metadata;
        if (reason != "TerminationByKubelet") {
            metadata = {{"deletionTimestamp", rfc3339(clock.wall() + 60s)},
                        {"deletionGracePeriodSeconds", 60}};
        }
        api.put("pods", launcher("virt-launcher-web-a",
                                 {{"phase", phase}, {"conditions", json::array{told}}},
                                 std::move(metadata)));
    }
    void run_source() {
        put_vmi("web", "n1",
                {{"activePods", {{"uid of virt-launcher-web-a", "n1"}}},
                 {"migrationState",
                  {{"migrationUid", "move kubevirt-evacuation-x"},
                   {"sourcePod", "virt-launcher-web-a"}}}});
        api.put("pods", launcher("virt-launcher-web-a", {{"phase", "Running"}}));
    }
    [[nodiscard]] std::string cause_of(const std::string& name) {
        return std::string{noted(name).at("virt-scout.io/migration-cause").as_string()};
    }
    /// The annotations of the last write.
    [[nodiscard]] json::object noted(const std::string& name) {
        EXPECT_TRUE(run_until([&] { return !written(name).empty(); })) << name;
        const auto bodies = written(name);
        return bodies.empty() ? json::object{}
                              : bodies.back().at("metadata").at("annotations").as_object();
    }
    [[nodiscard]] std::uint64_t counted(Requester requester, std::size_t mode,
                                        std::size_t failed) const {
        return migration_causes->counters()
            .at(static_cast<std::size_t>(requester))
            .at(mode)
            .at(failed);
    }
};

TEST_F(MigrationCausesTest, OnEachMigrationItIsWrittenWhoWantedIt) {
    start_causes();
    evacuate();

    EXPECT_EQ(noted(evacuation), (json::object{{"virt-scout.io/migration-cause", "drain"}}));
    const auto body = written(evacuation).front();
    EXPECT_EQ(body.at("metadata").at("uid"), "move kubevirt-evacuation-x");
    EXPECT_EQ(body.at("apiVersion"), "kubevirt.io/v1");
    EXPECT_FALSE(body.contains("spec"));
    ASSERT_TRUE(run_until([this] { return !told("MigrationRequested").empty(); }));
    EXPECT_THAT(told("MigrationRequested"),
                ElementsAre(AllOf(HasSubstr("web: migration kubevirt-evacuation-x"),
                                  HasSubstr("wanted by drain"))));
    EXPECT_EQ(history.moves("shop", "web").size(), 1U);
}

TEST_F(MigrationCausesTest, OfAUserTheClientIsNamedWhereNothingElseIsKnown) {
    start_causes();
    put_full_move("mine",
                  {{"managedFields",
                    {{{"manager", "kubectl-create"}, {"operation", "Update"}, {"time", now()}}}}},
                  {}, {});

    EXPECT_EQ(noted("mine"), (json::object{{"virt-scout.io/migration-cause", "user"},
                                           {"virt-scout.io/requested-by", "kubectl-create"}}));
}

TEST_F(MigrationCausesTest, AnEvacuationOfWhatTheKubeletKillsIsNodePressure) {
    put_vmi("web", "n1", {{"activePods", {{"pod of web", "n1"}}}});
    put_event("Pod/virt-launcher-web-a", "Evicted", "The node was low on resource: memory.");
    start_causes();
    evacuate();

    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "node-pressure");
}

TEST_F(MigrationCausesTest, OneOfANodeThatShutsDownIsThat) {
    put_event("Node/n1", "NodeShutdown", "Shutdown manager detected shutdown event");
    start_causes();
    evacuate();

    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "shutdown");
}

TEST_F(MigrationCausesTest, OneOfALauncherThatAnAgentNamedIsNodePressure) {
    start_causes();
    open(1, "n1");
    name(1, "moving");
    evacuate();

    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "node-pressure");
}

/// A kubelet deletes no pods: somebody did, as `kubectl drain --disable-eviction` does.
TEST_F(MigrationCausesTest, OneOfALauncherThatWasDeletedIsADrainAlsoIfAnAgentNamedIt) {
    put_vmi("web", "n1", {{"activePods", {{"pod of web", "n1"}}}});
    api.put(
        "pods",
        {{"metadata",
          {{"name", "virt-launcher-web-a"},
           {"namespace", "shop"},
           {"uid", "pod of web"},
           {"labels", {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", "vmi web"}}},
           {"annotations", {{"kubevirt.io/domain", "web"}}},
           {"deletionTimestamp", rfc3339(clock.wall() + 60s)},
           {"deletionGracePeriodSeconds", 60}}},
         {"spec", {{"nodeName", "n1"}, {"terminationGracePeriodSeconds", 60}}},
         {"status", {{"phase", "Running"}}}});
    start_causes();
    open(1, "n1");
    name(1, "moving");
    evacuate();

    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "drain");
}

TEST_F(MigrationCausesTest, OneOfALauncherThatATaintDeletedIsThatAndNoDrain) {
    run_source();
    end_source("DeletionByTaintManager", now());
    start_causes();
    evacuate();

    EXPECT_EQ(cause_of(evacuation), "taint");
}

TEST_F(MigrationCausesTest, OneOfALauncherThatMadeRoomIsPreemption) {
    run_source();
    end_source("PreemptionByScheduler", now());
    start_causes();
    evacuate();

    EXPECT_EQ(cause_of(evacuation), "preemption");
}

/// What asked for it was there before.
TEST_F(MigrationCausesTest, WhatATaintDidAfterwardsChangesNothing) {
    run_source();
    start_causes();
    evacuate();
    EXPECT_EQ(cause_of(evacuation), "drain");
    evacuate({{"phase", "Running"}}, {{"virt-scout.io/migration-cause", "drain"}});

    end_source("DeletionByTaintManager", rfc3339(clock.wall() + 5s));
    settle();
    EXPECT_EQ(written(evacuation).size(), 1U);
}

TEST_F(MigrationCausesTest, WhatIsSeenLateOfATaintPutsItRightOnce) {
    run_source();
    start_causes();
    evacuate();
    EXPECT_EQ(cause_of(evacuation), "drain");
    evacuate({{"phase", "Running"}}, {{"virt-scout.io/migration-cause", "drain"}});

    end_source("DeletionByTaintManager", rfc3339(clock.wall() - 60s));
    ASSERT_TRUE(run_until([this] { return written(evacuation).size() == 2; }));
    EXPECT_EQ(cause_of(evacuation), "taint");
    ASSERT_TRUE(run_until([this] { return told("MigrationRequested").size() == 2; }));
    EXPECT_THAT(told("MigrationRequested").back(), HasSubstr("wanted by taint"));
    EXPECT_EQ(history.moves("shop", "web").front().request.requester, Requester::taint);

    evacuate({{"phase", "Running"}}, {{"virt-scout.io/migration-cause", "taint"}});
    end_source("DeletionByTaintManager", rfc3339(clock.wall() - 60s), "again");
    settle();
    EXPECT_EQ(written(evacuation).size(), 2U);
}

/// A kubelet says it on the pod when all its containers have ended.
TEST_F(MigrationCausesTest, WhatAKubeletSaysAtTheEndPutsItRightAndIsReadOnlyForThat) {
    run_source();
    put_event("Pod/virt-launcher-web-a", "Evicted", "The node was low on resource: memory. ");
    start_causes();
    evacuate();
    EXPECT_EQ(cause_of(evacuation), "node-pressure");
    evacuate({{"phase", "Succeeded"}, {"migrationState", {{"sourcePod", "virt-launcher-web-a"}}}},
             {{"virt-scout.io/migration-cause", "node-pressure"}});
    settle();
    api.forget_calls();

    end_source("TerminationByKubelet", rfc3339(clock.wall() - 60s),
               "The node was low on resource: memory. ", "Failed");
    settle();
    EXPECT_THAT(calls(), IsEmpty());

    api.put("pods", launcher("virt-launcher-web-a", {{"phase", "Running"}}));
    settle();
    end_source("TerminationByKubelet", rfc3339(clock.wall() - 60s),
               "Pod was preempted by Kubelet to accommodate a critical pod.", "Failed");
    ASSERT_TRUE(run_until([this] { return !written(evacuation).empty(); }));
    EXPECT_EQ(cause_of(evacuation), "preemption");
}

TEST_F(MigrationCausesTest, OneThatAnAgentNamedOnANodeThatShutsDownIsThat) {
    const json::object ready{{"type", "Ready"},
                             {"status", "False"},
                             {"reason", "KubeletNotReady"},
                             {"message", "node is shutting down"}};
    api.put("nodes", {{"metadata", {{"name", "n1"}, {"uid", "node n1"}}},
                      {"status", {{"conditions", json::array{ready}}}}});
    start_causes();
    open(1, "n1");
    name(1, "moving");
    evacuate();

    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "shutdown");
}

/// An evacuation may take eight calls in all.
TEST_F(MigrationCausesTest, ForOneThatAnAgentNamedThereIsOneReadAndTwoWrites) {
    start_causes();
    open(1, "n1");
    name(1, "moving");
    evacuate();
    ASSERT_FALSE(noted(evacuation).empty());
    put_vmi("web", "n2",
            {{"migrationState",
              {{"migrationUid", "move kubevirt-evacuation-x"},
               {"mode", "PreCopy"},
               {"completed", true},
               {"endTimestamp", now()}}}});
    settle();
    evacuate({{"phase", "Succeeded"}}, {{"virt-scout.io/migration-cause", "node-pressure"}});

    ASSERT_TRUE(run_until([this] { return written(evacuation).size() == 2; }));
    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-mode"), "PreCopy");
    EXPECT_EQ(counted(Requester::node_pressure, 1, 0), 1U);
    std::size_t reads = 0;
    for (const auto& request : api.calls()) {
        const bool read = request.method == "GET";
        EXPECT_FALSE(read && request.target.find("/events") != std::string::npos) << request.target;
        reads += read && request.target.find(evacuation) != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(reads, 1U);
}

TEST_F(MigrationCausesTest, HowItEndedIsWrittenThenAndCounted) {
    start_causes();
    evacuate();
    ASSERT_FALSE(noted(evacuation).empty());
    const json::object state{{"mode", "PostCopy"},
                             {"sourceNode", "n1"},
                             {"targetNode", "n2"},
                             {"completed", true},
                             {"sourcePod", "virt-launcher-web-a"},
                             {"startTimestamp", now()}};
    evacuate({{"phase", "Running"}}, {{"virt-scout.io/migration-cause", "drain"}});
    settle();
    EXPECT_EQ(written(evacuation).size(), 1U);
    evacuate({{"phase", "Succeeded"}, {"migrationState", state}},
             {{"virt-scout.io/migration-cause", "drain"}});

    ASSERT_TRUE(run_until([this] { return written(evacuation).size() == 2; }));
    EXPECT_EQ(noted(evacuation), (json::object{{"virt-scout.io/migration-cause", "drain"},
                                               {"virt-scout.io/migration-mode", "PostCopy"}}));
    EXPECT_EQ(mode_word(2), "PostCopy");
    EXPECT_EQ(counted(Requester::drain, 2, 0), 1U);
    EXPECT_EQ(told("MigrationRequested").size(), 1U);
    const auto kept = history.moves("shop", "web");
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept.front().mode, "PostCopy");
    EXPECT_EQ(kept.front().target, "n2");
    EXPECT_THAT(kept.front().request.why, HasSubstr("evicted through the API"));
}

TEST_F(MigrationCausesTest, OneThatFailedBeforeItRanHasNoMode) {
    start_causes();
    evacuate();
    ASSERT_FALSE(noted(evacuation).empty());
    evacuate({{"phase", "Failed"}}, {{"virt-scout.io/migration-cause", "drain"}});

    ASSERT_TRUE(run_until([this] { return counted(Requester::drain, 0, 1) == 1; }));
    settle();
    EXPECT_EQ(written(evacuation).size(), 1U);
}

TEST_F(MigrationCausesTest, WhatIsThereIsNotWrittenAgainAndWhatIsWrongIs) {
    put_full_move("right", {{"annotations", {{"virt-scout.io/migration-cause", "forecast"}}}}, {},
                  {{"phase", "Running"}});
    put_full_move("wrong", {{"annotations", {{"virt-scout.io/migration-cause", "moon"}}}}, {},
                  {{"phase", "Running"}});
    start_causes();

    EXPECT_EQ(noted("wrong").at("virt-scout.io/migration-cause"), "user");
    settle();
    EXPECT_THAT(written("right"), IsEmpty());
    EXPECT_EQ(history.moves("shop", "web").size(), 2U);
}

TEST_F(MigrationCausesTest, WhatEndedLongAgoIsLeftAlone) {
    put_full_move("old", {{"creationTimestamp", "2024-01-01T00:00:00Z"}}, {},
                  {{"phase", "Succeeded"}});
    put_full_move("young", {}, {},
                  {{"phase", "Succeeded"}, {"migrationState", {{"mode", "PreCopy"}}}});
    start_causes();

    EXPECT_EQ(noted("young"), (json::object{{"virt-scout.io/migration-cause", "user"},
                                            {"virt-scout.io/migration-mode", "PreCopy"}}));
    settle();
    for (const auto& call : calls()) {
        EXPECT_THAT(call, testing::Not(HasSubstr("/old")));
    }
    EXPECT_THAT(told("MigrationRequested"), IsEmpty());
    EXPECT_EQ(counted(Requester::user, 1, 0), 0U);
}

TEST_F(MigrationCausesTest, OneThatDoesNotLeadWritesNothingUntilItDoes) {
    start_causes();
    lose_leadership();
    evacuate();
    ASSERT_TRUE(run_until([this] { return history.size() == 1; }));
    settle();
    EXPECT_THAT(written(evacuation), IsEmpty());
    EXPECT_THAT(told("MigrationRequested"), IsEmpty());

    lease.away = false;
    clock.advance(3h);
    EXPECT_EQ(noted(evacuation).at("virt-scout.io/migration-cause"), "drain");
    ASSERT_TRUE(run_until([this] { return told("MigrationRequested").size() == 1; }));
}

TEST_F(MigrationCausesTest, AWriteThatIsRefusedIsCountedAndTheRestGoesOn) {
    refuse_writes = 403;
    start_causes();
    evacuate();
    ASSERT_TRUE(run_until([this] { return migration_causes->failed() == 1; }));
    EXPECT_THAT(told("MigrationRequested"), IsEmpty());

    refuse_writes = 0;
    put_full_move("next", {}, {}, {});
    EXPECT_EQ(noted("next").at("virt-scout.io/migration-cause"), "user");
}

TEST_F(MigrationCausesTest, OneThatIsGoneBeforeItIsReadIsNoMatter) {
    start_causes();
    evacuate();
    moves.clear();
    put_full_move("next", {}, {}, {});

    EXPECT_FALSE(noted("next").empty());
    EXPECT_EQ(migration_causes->failed(), 0U);
}

}  // namespace
}  // namespace scout::aggregator
