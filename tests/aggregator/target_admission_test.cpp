// SPDX-License-Identifier: Apache-2.0
#include "aggregator/target_admission.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/admission_reviews.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using scout::test::bookmark_line;
using scout::test::watch_line;
using test::patch_of;
using test::response_of;
using test::warnings_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* sentinel = "virt-scout.io/target-term";
constexpr const char* on_ssd = "matchExpressions: [{key: disk, operator: In, values: [ssd]}]";

std::string value_of(const char* term) {
    const auto move = cluster::read_carried_move(json::serialize(json::object{
        {"metadata", {{"annotations", {{"virt-scout.io/added-node-selector-term", term}}}}}}));
    return cluster::sentinel_of(move.value().request.wish.term.value());
}

json::object migration_with(const char* term) {
    return {{"metadata",
             {{"name", "move"},
              {"namespace", "ns"},
              {"uid", "m1"},
              {"annotations", {{"virt-scout.io/added-node-selector-term", term}}}}},
            {"spec", {{"vmiName", "vm"}}}};
}

class TargetAdmissionTest : public testing::Test {
protected:
    static std::string node(const std::string& name, const std::string& disk) {
        return watch_line("ADDED", R"({"metadata":{"name":")" + name + R"(","uid":")" + name +
                                       R"(","resourceVersion":"5","labels":{"disk":")" + disk +
                                       R"("}}})");
    }
    void know_nodes(const std::string& disk_of_a, const std::string& disk_of_b) {
        from_nodes.then_last_lines(
            {node("a", disk_of_a), node("b", disk_of_b), bookmark_line("9", true)});
        scout::test::run_to_end(loop, nodes.run());
        from_vmis.then_last_lines(
            {watch_line("ADDED", R"({"metadata":{"name":"vm","namespace":"ns","uid":"v1",
                "resourceVersion":"5"},"status":{"phase":"Running","nodeName":"a"}})"),
             bookmark_line("9", true)});
        scout::test::run_to_end(loop, vmis.run());
    }

    daemon::HttpAnswer post_move(std::string body) {
        daemon::HttpRequest request;
        request.body = std::move(body);
        return scout::test::run_to_end(loop, admission.serve_move(std::move(request)));
    }
    daemon::HttpAnswer post_pod(std::string body) {
        daemon::HttpRequest request;
        request.body = std::move(body);
        return scout::test::run_to_end(loop, admission.serve_pod(std::move(request)));
    }

    json::object ask_about_move(const json::object& object) {
        return response_of(post_move(test::review({.group = "kubevirt.io",
                                                   .kind = "VirtualMachineInstanceMigration",
                                                   .object = object})));
    }
    /// A target pod of migration `move`.
    json::object ask_about_pod(const std::string& stands, bool dry_run = false) {
        const json::object pod{
            {"metadata",
             {{"generateName", "virt-launcher-vm-"},
              {"labels", {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/migrationJobUID", "m1"}}},
              {"annotations", {{"kubevirt.io/migrationJobName", "move"}}}}},
            {"spec", {{"nodeSelector", {{sentinel, stands}}}}}};
        return response_of(
            post_pod(test::review({.kind = "Pod", .object = pod, .dry_run = dry_run})));
    }

    asio::io_context loop;
    scout::test::FakeClock clock;
    scout::test::ScriptedTransport from_nodes;
    scout::test::ScriptedTransport from_vmis;
    scout::test::ScriptedTransport server;
    kube::Client client{server, clock, {.attempts = 1}};
    kube::Informer<kube::Node> nodes{from_nodes,
                                     clock,
                                     {.resource = kube::resources::nodes(), .selection = {}},
                                     &kube::decode_node};
    kube::Informer<kube::Vmi> vmis{
        from_vmis,
        clock,
        {.resource = kube::resources::virtual_machine_instances(), .selection = {}},
        &kube::decode_vmi};
    test::KeptEvents port;
    kube::EventRecorder events{loop.get_executor(), port, clock, 1};
    TargetAdmission admission{{.nodes = nodes, .vmis = vmis, .events = events}, client};
};

TEST_F(TargetAdmissionTest, SomethingStandsForTheTermOfAMigration) {
    know_nodes("hdd", "ssd");

    const auto response = ask_about_move(migration_with(on_ssd));

    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_THAT(patch_of(response), HasSubstr(value_of(on_ssd)));
    EXPECT_THAT(warnings_of(response), IsEmpty());
    EXPECT_EQ(admission.moves().patched, 1U);
    EXPECT_EQ(admission.moves().denied, 0U);
}

TEST_F(TargetAdmissionTest, GrammarIsRefused) {
    const auto response = ask_about_move(migration_with("{}"));

    EXPECT_FALSE(response.at("allowed").as_bool());
    EXPECT_THAT(std::string{response.at("status").at("message").as_string()},
                HasSubstr("an empty term matches no node at all"));
    EXPECT_EQ(patch_of(response), "");
    EXPECT_EQ(admission.moves().denied, 1U);
}

/// It is made, and fails by itself as others do.
TEST_F(TargetAdmissionTest, TheStateOfTheWorldIsWarnedOf) {
    know_nodes("ssd", "hdd");

    const auto to_itself = ask_about_move(migration_with(on_ssd));
    EXPECT_TRUE(to_itself.at("allowed").as_bool());
    EXPECT_NE(patch_of(to_itself), "");
    EXPECT_THAT(warnings_of(to_itself),
                ElementsAre(HasSubstr("only the node on which the VM runs has disk In (ssd)")));

    const auto nowhere =
        ask_about_move(migration_with("matchExpressions: [{key: gpu, operator: Exists}]"));
    EXPECT_NE(patch_of(nowhere), "");
    EXPECT_THAT(warnings_of(nowhere), ElementsAre(HasSubstr("no node has gpu Exists")));
}

/// Whoever may make a migration may ask as often as he likes.
TEST_F(TargetAdmissionTest, NoLargeTermIsComparedWithEveryNodeOfALargeCluster) {
    std::vector<std::string> lines;
    for (int i = 0; i < 100; ++i) {
        lines.push_back(node("n" + std::to_string(i), "hdd"));
    }
    lines.push_back(bookmark_line("9", true));
    from_nodes.then_last_lines(lines);
    scout::test::run_to_end(loop, nodes.run());
    const auto asking_for = [this](int values) {
        std::string term = "matchExpressions: [{key: gpu, operator: In, values: [v";
        for (int i = 1; i < values; ++i) {
            term += ", v" + std::to_string(i);
        }
        return ask_about_move(migration_with((term + "]}]").c_str()));
    };

    EXPECT_THAT(warnings_of(asking_for(2'990)), ElementsAre(HasSubstr("no node has gpu In")));
    const auto large = asking_for(3'010);
    EXPECT_NE(patch_of(large), "");
    EXPECT_THAT(warnings_of(large), IsEmpty());
}

/// Nothing of the cluster need be known for what must not wait.
TEST_F(TargetAdmissionTest, ATermIsTakenBeforeNodesAreKnown) {
    const auto response = ask_about_move(migration_with(on_ssd));
    EXPECT_NE(patch_of(response), "");
    EXPECT_THAT(warnings_of(response), IsEmpty());
}

TEST_F(TargetAdmissionTest, TheTargetPodIsAimed) {
    server.then_body(200, json::serialize(migration_with(on_ssd)));

    const auto response = ask_about_pod(value_of(on_ssd));

    EXPECT_EQ(server.requests().front().target,
              "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations/move");
    const auto patch = patch_of(response);
    EXPECT_THAT(patch, HasSubstr(R"({"op":"remove","path":"/spec/nodeSelector/virt-scout.io~1)"));
    EXPECT_THAT(patch, HasSubstr(R"("key":"disk")"));
    EXPECT_THAT(warnings_of(response), IsEmpty());
    EXPECT_EQ(events.waiting(), 0U);
}

/// No patch: it matches no node, and is given up.
TEST_F(TargetAdmissionTest, AfterAChangeOfTheTermThePodStaysAndItIsSaid) {
    constexpr const char* changed = "matchExpressions: [{key: disk, operator: Exists}]";
    server.then_body(200, json::serialize(migration_with(changed)));
    server.then_body(200, json::serialize(migration_with(changed)));

    EXPECT_EQ(patch_of(ask_about_pod(value_of(on_ssd), true)), "");
    EXPECT_EQ(events.waiting(), 0U) << "a dry run tells nobody";
    const auto response = ask_about_pod(value_of(on_ssd));

    EXPECT_TRUE(response.at("allowed").as_bool());
    EXPECT_EQ(patch_of(response), "");
    EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("matches no node")));
    scout::test::run_to_end(loop, events.run());
    ASSERT_EQ(port.records.size(), 1U);
    EXPECT_EQ(port.records[0].note.regarding.name, "move");
    EXPECT_EQ(port.records[0].note.reason, "TargetNotAimed");
    EXPECT_THAT(port.records[0].note.note, HasSubstr("was changed after it was made"));
}

TEST_F(TargetAdmissionTest, WithoutTheMigrationThePodStays) {
    server.then_body(404, scout::test::status_json(404, "NotFound"));
    server.then({.error = Errc::timed_out});
    server.then_body(200, "{");

    for (unsigned i = 0; i < 3; ++i) {
        const auto response = ask_about_pod(value_of(on_ssd));
        EXPECT_TRUE(response.at("allowed").as_bool());
        EXPECT_EQ(patch_of(response), "");
        EXPECT_THAT(warnings_of(response), ElementsAre(HasSubstr("matches no node")));
    }
    EXPECT_EQ(events.waiting(), 0U);
    EXPECT_EQ(server.left(), 0U);
}

TEST_F(TargetAdmissionTest, OtherQuestionsChangeNothing) {
    EXPECT_EQ(post_move("{").status, 400U);
    EXPECT_EQ(post_pod("{").status, 400U);
    EXPECT_THAT(warnings_of(response_of(post_move(test::review({.kind = "Pod", .object = {}})))),
                ElementsAre(HasSubstr("see the rules of the webhook")));
    EXPECT_THAT(warnings_of(response_of(post_pod(test::review({.kind = "Pod", .object = {}})))),
                ElementsAre(HasSubstr("not of a migration that carries a term")));
    EXPECT_EQ(admission.moves().refused, 1U);
    EXPECT_EQ(admission.pods().refused, 1U);
}

}  // namespace
}  // namespace scout::aggregator
