// SPDX-License-Identifier: Apache-2.0
#include "cluster/evacuation_acts.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::EvacuationStep;
using migration::MovePhase;
using migration::StepOutcome;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* vmi_path = "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstances/vm1";

/// As KubeVirt's webhook and the API server put it (dossier §16).
std::string denial(const std::string& text) {
    return R"({"kind":"Status","code":429,"message":"admission webhook )"
           R"(\"virt-launcher-eviction-interceptor.kubevirt.io\" denied the request: )" +
           text + "\"}";
}

std::string vmi_json(const std::string& status, const std::string& uid = "u") {
    return R"({"metadata":{"name":"vm1","namespace":"ns","uid":")" + uid +
           R"(","resourceVersion":"7"},"spec":{"evictionStrategy":"LiveMigrate"},"status":)" +
           status + "}";
}

class EvacuationActsTest : public testing::Test {
protected:
    void answer(unsigned status, std::string body = "{}") {
        transport.then({.status = status, .body = std::move(body)});
    }
    template <class T>
    T run(Task<T> task) {
        return test::run_to_end(loop, std::move(task));
    }
    StepOutcome carry_out(EvacuationStep step, const std::string& object = {}) {
        return run(acts.carry_out(subject, {.step = step, .object = object}));
    }
    [[nodiscard]] const kube::HttpRequest& request(std::size_t index = 0) const {
        return transport.requests().at(index);
    }
    [[nodiscard]] json::value body(std::size_t index = 0) const {
        return json::parse(request(index).body);
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    kube::Client client{transport, clock, {.backoff = {1ms, 2ms}}};
    EvacuationActs acts{client, clock};
    EvacuationSubject subject{.space = "ns",
                              .vmi = "vm1",
                              .vmi_uid = "u",
                              .pod = "virt-launcher-vm1-x",
                              .pod_uid = "pu",
                              .node = "n1",
                              .strategy = "None"};
};

TEST_F(EvacuationActsTest, ReadsTheVmiAndSaysWhenThereIsNone) {
    answer(200, vmi_json(R"({"phase":"Running","nodeName":"n1","conditions":[
        {"type":"LiveMigratable","status":"False","reason":"DisksNotLiveMigratable"}]})"));
    answer(404, test::status_json(404, "NotFound"));
    answer(403, test::status_json(403, "Forbidden"));
    transport.then({.error = Errc::timed_out});

    const auto found = run(acts.read_vmi(subject));
    ASSERT_TRUE(found.facts);
    EXPECT_EQ(request().target, vmi_path);
    EXPECT_EQ(found.facts->uid, "u");
    EXPECT_EQ(found.facts->node, "n1");
    EXPECT_EQ(found.facts->strategy, migration::EvictionStrategy::live_migrate);
    EXPECT_FALSE(found.facts->migratable);
    EXPECT_EQ(found.facts->not_migratable, "DisksNotLiveMigratable");

    const auto gone = run(acts.read_vmi(subject));
    EXPECT_EQ(gone.outcome, StepOutcome::done);
    EXPECT_FALSE(gone.facts);
    EXPECT_EQ(run(acts.read_vmi(subject)).outcome, StepOutcome::refused);
}

TEST_F(EvacuationActsTest, AShareEndsWithItsContainerWhateverKubeVirtSays) {
    const auto with_share = [](const std::string& status) {
        auto vmi = json::parse(vmi_json(status)).as_object();
        auto& spec = vmi.at("spec").as_object();
        spec["domain"] =
            json::parse(R"({"devices":{"filesystems":[{"name":"data","virtiofs":{}}]}})");
        return json::serialize(vmi);
    };
    answer(200, with_share(R"({"conditions":[{"type":"LiveMigratable","status":"True"}]})"));
    answer(200, with_share(R"({"conditions":[
        {"type":"LiveMigratable","status":"False","reason":"DisksNotLiveMigratable"}]})"));
    answer(200, with_share("{}"));

    for (const auto* const why :
         {"its virtiofs shares end when its launcher's pod is told to stop",
          "DisksNotLiveMigratable",
          "its virtiofs shares end when its launcher's pod is told to stop"}) {
        const auto found = run(acts.read_vmi(subject));
        ASSERT_TRUE(found.facts);
        EXPECT_FALSE(found.facts->migratable);
        EXPECT_EQ(found.facts->not_migratable, why);
    }
}

/// An Event about the launcher, so long ago.
json::object pod_event(const std::string& reason, const std::string& note, WallTime at) {
    return {{"metadata", {{"name", "e"}, {"namespace", "ns"}}},
            {"regarding", {{"kind", "Pod"}, {"namespace", "ns"}, {"name", "virt-launcher-vm1-x"}}},
            {"reason", reason},
            {"note", note},
            {"deprecatedLastTimestamp", rfc3339(at)}};
}

TEST_F(EvacuationActsTest, SaysOfAVmWithALivenessProbeWhetherItIsKilledForThat) {
    const auto probed = [] {
        auto vmi = json::parse(vmi_json(R"({"phase":"Running","nodeName":"n1"})"));
        vmi.at("spec").as_object()["livenessProbe"] = {{"periodSeconds", 10}};
        return json::serialize(vmi);
    };
    const auto now = clock.wall();
    const auto failed = pod_event("Unhealthy", "Liveness probe failed: no answer", now);
    const auto killing = pod_event("Killing", "Container compute failed liveness probe", now);
    const auto stopping = pod_event("Killing", "Stopping container compute", now);
    const auto evicted =
        pod_event("Evicted", "The node was low on resource: memory. Threshold 1.", now);
    const auto old = pod_event("Killing", "Container compute failed liveness probe", now - 5min);
    // A probe may time out for what its node suffers from, and then other Events come later.
    const std::vector<std::pair<json::array, bool>> cases{
        {{failed}, false},          {{failed, stopping}, false},
        {{failed, evicted}, false}, {{killing}, true},
        {{failed, killing}, true},  {{killing, stopping}, true},
        {{evicted}, false},         {{old}, false},
        {json::array{}, false}};
    for (const auto& [events, expected] : cases) {
        const auto before = transport.requests().size();
        answer(200, probed());
        answer(200, json::serialize(json::object{{"kind", "EventList"},
                                                 {"metadata", {{"resourceVersion", "1"}}},
                                                 {"items", events}}));
        EXPECT_EQ(run(acts.read_vmi(subject)).liveness_kill, expected) << json::serialize(events);
        ASSERT_EQ(transport.requests().size(), before + 2);
        EXPECT_THAT(request(before + 1).target,
                    HasSubstr("/namespaces/ns/events?fieldSelector=regarding.kind"));
    }
    answer(200, probed());
    answer(403, test::status_json(403, "Forbidden"));
    EXPECT_FALSE(run(acts.read_vmi(subject)).liveness_kill);

    // It is deleted, by an eviction or a preemption for one: nobody asks for Events.
    subject.pod_deleting = true;
    answer(200, probed());
    EXPECT_FALSE(run(acts.read_vmi(subject)).liveness_kill);
}

TEST_F(EvacuationActsTest, AnAnswerThatIsNoVmiIsNone) {
    answer(200, R"({"metadata":7})");
    EXPECT_EQ(run(acts.read_vmi(subject)).outcome, StepOutcome::unavailable);
}

/// The dry run and the eviction itself get the same texts.
class EvictionAnswerTest
    : public EvacuationActsTest,
      public testing::WithParamInterface<std::tuple<unsigned, std::string, StepOutcome>> {};

TEST_P(EvictionAnswerTest, IsToldByItsText) {
    for (const auto step : {EvacuationStep::dry_run, EvacuationStep::evict}) {
        for (unsigned attempts = 0; attempts < 5; ++attempts) {
            answer(std::get<0>(GetParam()), std::get<1>(GetParam()));
        }
        const auto first = transport.requests().size();
        EXPECT_EQ(carry_out(step), std::get<2>(GetParam()));
        EXPECT_THAT(request(first).target,
                    HasSubstr("/api/v1/namespaces/ns/pods/virt-launcher-vm1-x/eviction?"));
        EXPECT_EQ(request(first).target.find("dryRun=All") != std::string::npos,
                  step == EvacuationStep::dry_run);
        EXPECT_EQ(body(first).at("deleteOptions").at("preconditions").at("uid"), "pu");
        EXPECT_EQ(transport.requests().size(), first + 1) << "an eviction is sent once";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Answers, EvictionAnswerTest,
    testing::Values(
        std::tuple{429U, denial(R"(Eviction triggered evacuation of VMI \"ns/vm1\")"),
                   StepOutcome::done},
        std::tuple{429U,
                   denial("Evacuation in progress: "
                          R"(Eviction triggered evacuation of VMI \"ns/vm1\")"),
                   StepOutcome::done},
        std::tuple{429U, denial(R"(Eviction triggered evacuation of VMI \"ns/vm11\")"),
                   StepOutcome::refused},
        std::tuple{429U, denial("Eviction request for target Pod"), StepOutcome::refused},
        std::tuple{429U,
                   denial("VMI vm1 is configured with an eviction strategy but is not "
                          "live-migratable"),
                   StepOutcome::refused},
        std::tuple{429U,
                   R"({"kind":"Status","code":429,"message":"Cannot evict pod as it would )"
                   R"(violate the pod's disruption budget."})",
                   StepOutcome::refused},
        std::tuple{201U, std::string{"{}"}, StepOutcome::would_evict},
        std::tuple{404U, test::status_json(404, "NotFound"), StepOutcome::refused},
        std::tuple{409U, test::status_json(409, "Conflict"), StepOutcome::refused},
        std::tuple{500U, test::status_json(500, "InternalError"), StepOutcome::unavailable}));

TEST_F(EvacuationActsTest, AStampCountsByWhatWasStored) {
    answer(200, vmi_json(R"({"evacuationNodeName":"n1"})"));
    answer(200, vmi_json("{}"));
    answer(422, test::status_json(422, "Invalid"));

    EXPECT_EQ(carry_out(EvacuationStep::stamp), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::stamp), StepOutcome::undone);
    EXPECT_EQ(carry_out(EvacuationStep::stamp), StepOutcome::refused);

    EXPECT_EQ(request().method, "PATCH");
    EXPECT_THAT(request().target, HasSubstr(vmi_path));
    EXPECT_EQ(body(),
              json::parse(R"({"metadata":{"uid":"u"},"status":{"evacuationNodeName":"n1"}})"));
}

TEST_F(EvacuationActsTest, AMigrationOfOursSetsNoPriorityAndGivesUpSoonWhereNothingFits) {
    answer(201);
    answer(400, test::status_json(400, "BadRequest"));
    answer(503, test::status_json(503, "ServiceUnavailable"));

    EXPECT_EQ(carry_out(EvacuationStep::create_move), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::create_move), StepOutcome::refused);
    EXPECT_EQ(carry_out(EvacuationStep::create_move), StepOutcome::unavailable);

    EXPECT_THAT(transport.requests(), SizeIs(3)) << "each is sent once: it may have been made";
    EXPECT_EQ(request().method, "POST");
    EXPECT_EQ(body().at("spec"), json::parse(R"({"vmiName":"vm1"})"));
    EXPECT_EQ(body()
                  .at("metadata")
                  .at("annotations")
                  .at("kubevirt.io/migrationUnschedulablePodTimeoutSeconds"),
              "20");
}

TEST_F(EvacuationActsTest, TheMarkIsCancelledAsKubeVirtWantsIt) {
    answer(200, "");
    answer(400, test::status_json(400, "BadRequest"));
    answer(404, test::status_json(404, "NotFound"));
    answer(500, test::status_json(500, "InternalError"));

    EXPECT_EQ(carry_out(EvacuationStep::cancel_mark), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::cancel_mark), StepOutcome::refused);
    EXPECT_EQ(carry_out(EvacuationStep::cancel_mark), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::cancel_mark), StepOutcome::unavailable);

    EXPECT_EQ(request().method, "PUT");
    EXPECT_EQ(request().target,
              "/apis/subresources.kubevirt.io/v1/namespaces/ns/virtualmachineinstances/vm1/"
              "evacuate/cancel");
    EXPECT_THAT(request().accept, Not(HasSubstr("json")));
    EXPECT_EQ(body(), json::parse(R"({"evacuationNodeName":"n1"})"));
}

TEST_F(EvacuationActsTest, WhatIsGoneNeedsNoDeletion) {
    answer(200);
    answer(404, test::status_json(404, "NotFound"));

    EXPECT_EQ(carry_out(EvacuationStep::delete_move, "k-1"), StepOutcome::done);
    EXPECT_EQ(carry_out(EvacuationStep::delete_target, "virt-launcher-vm1-y"), StepOutcome::done);

    EXPECT_EQ(request(0).method, "DELETE");
    EXPECT_THAT(request(0).target, HasSubstr("/virtualmachineinstancemigrations/k-1"));
    EXPECT_EQ(request(1).target, "/api/v1/namespaces/ns/pods/virt-launcher-vm1-y");
}

TEST_F(EvacuationActsTest, ATouchIsOfThisVmiAlone) {
    answer(200);
    EXPECT_EQ(carry_out(EvacuationStep::touch), StepOutcome::done);
    EXPECT_EQ(body().at("metadata").at("uid"), "u");
    EXPECT_EQ(body().at("metadata").at("annotations").at("virt-scout.io/released"),
              json::value(rfc3339(clock.wall())));
    EXPECT_FALSE(body().as_object().contains("status"));
}

std::string move_json(const std::string& name, const std::string& vmi, const std::string& phase) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name +
           R"(","resourceVersion":"9"},"spec":{"vmiName":")" + vmi + R"("},"status":{"phase":")" +
           phase + R"("}})";
}

TEST_F(EvacuationActsTest, ListsTheMigrationsOfThisVmi) {
    answer(200,
           test::list_json("20", {move_json("a", "vm1", "Failed"),
                                  move_json("b", "other", "Running"), move_json("c", "vm1", "")}));
    const auto answered = run(acts.list_moves(subject));

    EXPECT_EQ(request().target,
              "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations"
              "?labelSelector=kubevirt.io%2Fvmi-name%3Dvm1");
    ASSERT_THAT(answered.moves, SizeIs(2));
    EXPECT_EQ(answered.moves[0].phase, MovePhase::failed);
    EXPECT_EQ(answered.moves[1].name, "c");
    EXPECT_EQ(answered.moves[1].phase, MovePhase::pending);
    EXPECT_THAT(transport.requests(), SizeIs(1));
}

TEST_F(EvacuationActsTest, TheVmiTellsTheTargetPodOfOneThatWasHandedOff) {
    answer(200, test::list_json("20", {move_json("a", "vm1", "TargetReady")}));
    answer(200, vmi_json(R"({"migrationState":{"migrationUid":"u-a","targetPod":"p-2"}})"));
    const auto answered = run(acts.list_moves(subject));
    ASSERT_THAT(answered.moves, SizeIs(1));
    EXPECT_EQ(answered.moves[0].phase, MovePhase::prepared);
    EXPECT_EQ(answered.moves[0].target_pod, "p-2");
}

TEST_F(EvacuationActsTest, AListThatCannotBeReadIsNoneThatIsEmpty) {
    answer(200, test::list_json("20", {R"({"metadata":{"name":7}})"}));
    EXPECT_EQ(run(acts.list_moves(subject)).outcome, StepOutcome::unavailable);
    answer(200, "no list");
    EXPECT_EQ(run(acts.list_moves(subject)).outcome, StepOutcome::unavailable);
    answer(403, test::status_json(403, "Forbidden"));
    EXPECT_EQ(run(acts.list_moves(subject)).outcome, StepOutcome::refused);
}

TEST_F(EvacuationActsTest, ANameThatIsTooLongForALabelIsLookedForByHand) {
    subject.vmi = std::string(64, 'v');
    answer(200, test::list_json("20", {move_json("a", "vm1", "Running"),
                                       move_json("b", subject.vmi, "Running")}));
    const auto answered = run(acts.list_moves(subject));
    EXPECT_THAT(request().target, Not(HasSubstr("labelSelector")));
    ASSERT_THAT(answered.moves, SizeIs(1));
    EXPECT_EQ(answered.moves[0].name, "b");
}

}  // namespace
}  // namespace scout::cluster
