// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_relief.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/mover_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::ReliefHold;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* moves = "virtualmachineinstancemigrations";

/// VMs web and db run on n1, which is about to run short of memory; n2 and n3 take VMs.
class PressureReliefTest : public MoverFixture {
protected:
    PressureReliefTest() {
        act();
        for (const auto* node : {"n1", "n2", "n3"}) {
            put_ready(node);
        }
        put_vmi("db", "n1");
        put_pod("virt-launcher-db-a", "db", "n1");
        api.answer = [this](const kube::HttpRequest& request) { return answer_move(request); };
    }

    void act(json::object pressure = {{"mode", "act"}}) {
        api.put("scoutconfigs", {{"metadata", {{"name", "default"}}},
                                 {"spec", {{"pressure", std::move(pressure)}}}});
    }
    void put_ready(const std::string& node) {
        api.put("nodes",
                {{"metadata", {{"name", node}, {"labels", {{"kubevirt.io/schedulable", "true"}}}}},
                 {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
    }
    /// Runs it, and agents that are heard of.
    void lead() {
        start();
        scope->spawn("relief", [this] { return relief.run(); });
        for (const auto* node : {"n1", "n2"}) {
            ASSERT_TRUE(registry.introduce(
                {.node = node, .host_identity = node, .agent_version = ""}, clock.steady()));
        }
        pass(1min);
    }
    /// Time passes, agents stay alive, and it looks once more.
    void pass(std::chrono::seconds time) {
        clock.advance(time);
        registry.touch("n1", clock.steady());
        registry.touch("n2", clock.steady());
        ring();
        settle();
    }
    /// A change of what is led or warned of is looked at without delay.
    void ring() { tell("n2", false), tell("n2", true), tell("n2", false); }

    void tell(const std::string& node, bool warned, std::vector<std::string> vms = {}) {
        migration::PressureReport report;
        report.lines.resize(1);
        auto& line = report.lines[0];
        line.signal = node == "n1" ? migration::PressureSignal::memory_available
                                   : migration::PressureSignal::pid_available;
        line.room = migration::SignalRoom{.available = 2000, .capacity = 100'000};
        line.at = 1000;
        line.warned = warned;
        if (warned && node == "n1") {
            line.reached = migration::TrendForecast{.in = 5min, .confidence = 0.9};
        }
        report.order.resize(1);
        for (const auto& vm : vms) {
            report.order[0].first.push_back({.vmi = "shop/" + vm,
                                             .pod_uid = "pod of " + vm,
                                             .usage = 700,
                                             .vm_grace = std::nullopt});
        }
        static_cast<void>(registry.report_pressure(node, std::move(report), clock.steady()));
    }
    void press(std::vector<std::string> vms = {"web", "db"}) {
        tell("n1", false);
        tell("n1", true, std::move(vms));
        settle();
    }

    /// As the API server does it, with or without our webhook.
    kube::HttpResponse answer_move(const kube::HttpRequest& request) {
        kube::HttpResponse response;
        response.head.status = 200;
        response.body = "{}";
        if (request.method == "DELETE" && request.target.find(moves) != std::string::npos) {
            deletes.push_back(request.body);
            api.remove(moves, request.target.substr(request.target.rfind('/') + 1));
        }
        if (request.method != "POST" || request.target.find(moves) == std::string::npos) {
            return response;
        }
        const bool dry = request.target.find("dryRun=All") != std::string::npos;
        const auto status = dry ? rehearsal_status : status_of_move;
        if (status != 200) {
            response.head.status = status;
            response.body = R"({"kind":"Status","message":"no","reason":"Forbidden"})";
            return response;
        }
        auto object = json::parse(request.body).as_object();
        auto& metadata = object["metadata"].as_object();
        metadata["name"] = "virt-scout-forecast-" + std::to_string(++made);
        metadata["uid"] = "move " + std::to_string(made);
        metadata["creationTimestamp"] = rfc3339(clock.wall());
        if (dry && webhook) {
            object["spec"].as_object()["addedNodeSelector"] = {
                {"virt-scout.io/target-term", "0123"}};
        }
        if (!dry) {
            stored.push_back(object);
            if (stores) {
                api.put(moves, object);
            }
        }
        response.body = json::serialize(object);
        return response;
    }
    void end(std::size_t index, const std::string& phase) {
        stored.at(index)["status"] = {{"phase", phase}};
        api.put(moves, stored.at(index));
        settle();
    }
    [[nodiscard]] std::vector<std::string> moved() const {
        std::vector<std::string> names;
        for (const auto& object : stored) {
            names.emplace_back(object.at("spec").at("vmiName").as_string());
        }
        return names;
    }
    [[nodiscard]] std::uint64_t count(ReliefResult result) const {
        return relief.counters().results.at(static_cast<std::size_t>(result));
    }
    [[nodiscard]] std::size_t held(ReliefHold hold) const {
        return relief.counters().held.at(static_cast<std::size_t>(hold));
    }
    [[nodiscard]] std::size_t posts() const {
        std::size_t all = 0;
        for (const auto& call : calls()) {
            all += call.starts_with("POST ") && call.find(moves) != std::string::npos ? 1 : 0;
        }
        return all;
    }

    unsigned rehearsal_status = 200;
    unsigned status_of_move = 200;
    bool webhook = true;
    bool stores = true;
    unsigned made = 0;
    std::vector<json::object> stored;
    std::vector<std::string> deletes;
    std::string stopping;  ///< uid of a VMI whose launcher was told to stop
    Registry registry{{}, clock};
    PressureRelief relief{
        loop.get_executor(),
        {.objects = {.registry = registry,
                     .kubevirts = objects.kubevirts,
                     .nodes = objects.nodes,
                     .vmis = objects.vmis,
                     .migrations = objects.migrations,
                     .launchers = objects.launchers,
                     .told_to_stop = [this](std::string_view uid) { return uid == stopping; }},
         .registry = registry,
         .settings = settings,
         .elector = elector,
         .events = events},
        client,
        clock};
};

TEST_F(PressureReliefTest, VmsAreMovedByAMigrationThatLeavesPressedNodesOut) {
    lead();
    tell("n2", true);
    settle();
    tell("n2", false);
    settle();
    press();
    ASSERT_THAT(moved(), ElementsAre("web", "db"));
    EXPECT_EQ(count(ReliefResult::begun), 2U);

    const auto& metadata = stored[0].at("metadata").as_object();
    const auto& notes = metadata.at("annotations").as_object();
    EXPECT_EQ(metadata.at("generateName"), "virt-scout-forecast-");
    EXPECT_EQ(notes.at("virt-scout.io/migration-cause"), "forecast");
    EXPECT_EQ(notes.at("virt-scout.io/relieves-node"), "n1");
    // n2 was warned of a moment ago.
    EXPECT_EQ(json::parse(notes.at("virt-scout.io/added-node-selector-term").as_string()),
              json::parse(R"({"matchFields":[
                  {"key":"metadata.name","operator":"NotIn","values":["n1"]},
                  {"key":"metadata.name","operator":"NotIn","values":["n2"]}]})"));
    EXPECT_EQ(stored[0]
                  .at("spec")
                  .at("addedNodeSelector")
                  .at("virt-scout.io/target-term")
                  .as_string()
                  .size(),
              40U);
    for (const auto& call : calls()) {
        EXPECT_EQ(call.find("eviction"), std::string::npos);
    }

    ASSERT_TRUE(run_until([this] { return recorded.records.size() >= 2; }));
    const auto& note = recorded.records.front().note;
    EXPECT_EQ(note.reason, "MovedAheadOfPressure");
    EXPECT_EQ(note.regarding.name, "web");
    EXPECT_EQ(note.regarding.uid, "vmi web");
    EXPECT_FALSE(note.warning);
    EXPECT_THAT(note.note, AllOf(HasSubstr("memory.available of node n1"), HasSubstr("1000"),
                                 HasSubstr(rfc3339(clock.wall() + 5min))));
}

TEST_F(PressureReliefTest, WithoutTheModeNothingIsDone) {
    act({{"movesPerMinute", 60}});
    lead();
    press();
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(relief.counters().pressed, 0U);

    act();
    settle();
    pass(1s);
    EXPECT_THAT(moved(), ElementsAre("web", "db"));
}

TEST_F(PressureReliefTest, OnlyTheLeaderActs) {
    lead();
    lose_leadership();
    press();
    EXPECT_EQ(posts(), 0U);
}

TEST_F(PressureReliefTest, ANodeIsRelievedAgainOnlyAfterItIsKnownWhatCameOfIt) {
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web"));
    pass(90s);
    press({"web", "db"});
    EXPECT_THAT(moved(), SizeIs(1));
    EXPECT_EQ(held(ReliefHold::moving), 1U);

    end(0, "Failed");
    pass(10s);
    press({"web", "db"});
    EXPECT_EQ(held(ReliefHold::settling), 1U);
    pass(1min);
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "the one that failed rests";
}

TEST_F(PressureReliefTest, AMoveThatGetsNoPodIsTakenBackAndItsPlaceIsFree) {
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web", "db"});
    ASSERT_THAT(moved(), ElementsAre("web"));
    stored[0]["status"] = {
        {"phase", "Pending"},
        {"conditions", {{{"type", "migrationRejectedByResourceQuota"}, {"status", "True"}}}}};
    api.put(moves, stored[0]);
    pass(119s);
    press({"web", "db"});
    EXPECT_THAT(deletes, IsEmpty());
    pass(1s);
    ASSERT_THAT(deletes, SizeIs(1));
    EXPECT_THAT(deletes[0], AllOf(HasSubstr("\"uid\":\"move 1\""), HasSubstr("resourceVersion")))
        << "as it was seen";
    EXPECT_EQ(count(ReliefResult::taken_back), 1U);
    ASSERT_TRUE(run_until([this] { return recorded.records.size() >= 2; }));
    EXPECT_EQ(recorded.records[1].note.reason, "MoveAheadOfPressureTakenBack");
    EXPECT_THAT(recorded.records[1].note.note, HasSubstr("ResourceQuota"));

    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "the other one has its place at once";
    EXPECT_EQ(held(ReliefHold::backing_off), 1U);
}

TEST_F(PressureReliefTest, AMoveThatIsNotNeededAnyMoreIsTakenBackUnlessItIsHandedOff) {
    lead();
    press({"web", "db"});
    ASSERT_THAT(moved(), ElementsAre("web", "db"));
    end(0, "Scheduling");
    end(1, "TargetReady");
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty()) << "both have a pod, and are needed";
    tell("n1", false);
    pass(1s);
    ASSERT_THAT(deletes, SizeIs(1));
    EXPECT_THAT(deletes[0], HasSubstr("move 1"));
    EXPECT_EQ(count(ReliefResult::taken_back), 1U);
    end(1, "APhaseOfTomorrow");
    pass(1s);
    put_vmi("db", "n1", {{"migrationState", {{"migrationUid", "move 2"}}}});
    end(1, "Scheduling");
    pass(1s);
    EXPECT_THAT(deletes, SizeIs(1)) << "its VMI says that it is handed off";
}

TEST_F(PressureReliefTest, WhatOthersMadeIsNotTakenBack) {
    put_move("by-hand", "web", "Pending");
    lead();
    tell("n1", false);
    pass(10min);
    EXPECT_THAT(deletes, IsEmpty());
}

TEST_F(PressureReliefTest, AnotherLeaderReadsFromTheMigrationsWhatWasDone) {
    api.put(moves, {{"metadata",
                     {{"name", "virt-scout-forecast-x"},
                      {"namespace", "shop"},
                      {"uid", "x"},
                      {"creationTimestamp", rfc3339(clock.wall())},
                      {"annotations", {{"virt-scout.io/relieves-node", "n1"}}}}},
                    {"spec", {{"vmiName", "web"}}},
                    {"status", {{"phase", "Running"}}}});
    lead();
    press();
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(held(ReliefHold::moving), 1U);
}

TEST_F(PressureReliefTest, AVmThatCameLatelyStays) {
    put_vmi(
        "web", "n1",
        {{"migrationState",
          {{"migrationUid", "m"}, {"completed", true}, {"endTimestamp", rfc3339(clock.wall())}}}});
    lead();
    press();
    EXPECT_THAT(moved(), ElementsAre("db"));
    EXPECT_EQ(held(ReliefHold::moved_lately), 1U);
}

TEST_F(PressureReliefTest, WhoIsStoppingOrMustStayIsPassedOver) {
    stopping = "vmi web";
    api.put("virtualmachineinstances",
            {{"metadata", {{"name", "db"}, {"namespace", "shop"}, {"uid", "vmi db"}}},
             {"spec", {{"evictionStrategy", "External"}}},
             {"status", {{"phase", "Running"}, {"nodeName", "n1"}}}});
    lead();
    press({"web", "db", "nobody"});
    EXPECT_EQ(posts(), 0U);
    EXPECT_EQ(held(ReliefHold::stopping), 1U);
    EXPECT_EQ(held(ReliefHold::owner), 1U);
    EXPECT_EQ(held(ReliefHold::not_seen), 1U);
}

TEST_F(PressureReliefTest, WithoutTheWebhooksNothingIsMade) {
    webhook = false;
    lead();
    press();
    EXPECT_THAT(stored, IsEmpty());
    EXPECT_EQ(count(ReliefResult::no_webhook), 2U);
    ASSERT_TRUE(run_until([this] { return !recorded.records.empty(); }));
    EXPECT_EQ(recorded.records.front().note.reason, "NotMovedAheadOfPressure");
    EXPECT_THAT(recorded.records.front().note.note, HasSubstr("virt-scout-target"));
}

TEST_F(PressureReliefTest, WhatWasRefusedIsTriedAgainAfterAWhileAndThenLater) {
    status_of_move = 403;
    lead();
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 1U);
    const auto first = posts();
    pass(30s);
    press({"web"});
    EXPECT_EQ(posts(), first);
    EXPECT_EQ(held(ReliefHold::backing_off), 1U);
    pass(31s);
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 2U);
    pass(61s);
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 2U) << "twice as long";
    status_of_move = 200;
    pass(60s);
    press({"web"});
    EXPECT_THAT(moved(), ElementsAre("web"));
}

TEST_F(PressureReliefTest, ARefusedRehearsalAndAConflictMakeNothing) {
    rehearsal_status = 409;
    lead();
    press({"web"});
    EXPECT_EQ(count(ReliefResult::refused), 1U);
    EXPECT_THAT(stored, IsEmpty());
}

TEST_F(PressureReliefTest, WhatMayHaveBeenMadeCountsAsMade) {
    status_of_move = 500;
    lead();
    press({"web", "db"});
    EXPECT_EQ(count(ReliefResult::unanswered), 2U);
    pass(10s);
    press({"web", "db"});
    EXPECT_EQ(held(ReliefHold::moving), 1U);
    EXPECT_EQ(count(ReliefResult::unanswered), 2U);
}

TEST_F(PressureReliefTest, WhatIsNotSeenYetCountsAsWell) {
    stores = false;
    act({{"mode", "act"}, {"movesPerMinute", 1}});
    lead();
    press({"web"});
    ASSERT_THAT(moved(), ElementsAre("web"));
    pass(20s);
    press({"db"});
    EXPECT_EQ(held(ReliefHold::moving), 1U);
    pass(20s);
    press({"db"});
    EXPECT_EQ(held(ReliefHold::rate), 1U);
    pass(21s);
    press({"web", "db"});
    EXPECT_THAT(moved(), ElementsAre("web", "db")) << "web was to be moved, whatever became of it";
}

TEST_F(PressureReliefTest, AVmThatWentBetweenRehearsalAndMigrationIsLeftAlone) {
    lead();
    api.hold([](const kube::HttpRequest& request) {
        return request.target.find("dryRun=All") != std::string::npos;
    });
    press({"web"});
    api.remove("virtualmachineinstances", "web");
    settle();
    api.release();
    settle();
    EXPECT_THAT(stored, IsEmpty());
    EXPECT_EQ(count(ReliefResult::gone), 1U);
}

TEST_F(PressureReliefTest, ASilentAgentIsNotBelieved) {
    lead();
    press({"web"});
    end(0, "Succeeded");
    clock.advance(40min);
    registry.touch("n2", clock.steady());
    ring();
    settle();
    EXPECT_THAT(moved(), SizeIs(1));
    EXPECT_EQ(relief.counters().pressed, 0U) << "nobody is near who is heard";
}

}  // namespace
}  // namespace scout::aggregator
