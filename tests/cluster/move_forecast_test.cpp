// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_forecast.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/dump.h"
#include "cluster/vm_placement.h"
#include "documents/cpu_map_files.h"
#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

using migration::MoveRequest;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string host{"kubernetes.io/hostname"};

kube::SharedText text(std::string_view value) {
    return kube::SharedText{value};
}

/// "code" of each reason.
std::vector<std::string> codes(const MoveForecast& forecast) {
    std::vector<std::string> out;
    for (const auto& reason : forecast.reasons) {
        out.emplace_back(reason.code);
    }
    return out;
}
std::string texts(const MoveForecast& forecast) {
    std::string out;
    for (const auto& reason : forecast.reasons) {
        out += reason.text + "\n";
    }
    return out;
}

/// Four equal nodes, a host-model VM on a that never moved.
class MoveForecastTest : public testing::Test {
protected:
    MoveForecastTest() {
        for (const char* name : {"a", "b", "c", "d"}) {
            auto labels = test::plain_labels();
            labels[host] = std::string("host-") + name;
            labels["disk"] = name == std::string("d") ? "hdd" : "ssd";
            objects.nodes.push_back(test::node_object(name, labels));
        }
        kube::Vmi vmi;
        vmi.meta = {.space = text("shop"), .name = "web", .uid = "uid-web", .version = "1"};
        vmi.phase = text("Running");
        vmi.node = text("a");
        vmi.architecture = text("amd64");
        vmi.cpu_model = text("host-model");
        vmi.machine = text("q35");
        objects.vmis.push_back(vmi);
        kube::LauncherPod pod;
        pod.meta = {.space = text("shop"), .name = "pod", .uid = {}, .version = "1"};
        pod.node = text("a");
        pod.phase = text("Running");
        pod.vmi_name = "web";
        pod.vmi_uid = "uid-web";
        objects.launchers.push_back(pod);
        objects.kubevirts.push_back(test::kubevirt_object());
        request.space = "shop";
        request.name = "move";
        request.vmi = "web";
        request.term_path = "term";
    }
    kube::Vmi& vmi() { return objects.vmis.front(); }
    void to(std::string node) {
        request.wish.term = migration::NodeSelectorTerm{
            .expressions = {}, .fields = {{"metadata.name", "In", {std::move(node)}}}};
    }
    [[nodiscard]] MoveForecast forecast() const {
        auto found = forecast_move(objects, request, {}, &map);
        EXPECT_TRUE(found) << found.error().message;
        return found ? *std::move(found) : MoveForecast{};
    }
    [[nodiscard]] std::string verdict() const { return std::string{to_string(forecast().verdict)}; }

    migration::CpuMap map = scout::test::small_map();
    Objects objects;
    MoveRequest request;
};

TEST_F(MoveForecastTest, WithoutAWishEveryNodeThatFitsIsACandidate) {
    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::ok);
    EXPECT_EQ(found.vmi, "shop/web");
    EXPECT_EQ(found.source, "a");
    EXPECT_THAT(found.candidates, ElementsAre("b", "c", "d"));
    EXPECT_THAT(found.reasons, IsEmpty());
    EXPECT_FALSE(found.give_up_seconds);
}

/// The proposal's positive test.
TEST_F(MoveForecastTest, NamedNodeIsTheOnlyCandidate) {
    to("c");

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::ok);
    EXPECT_THAT(found.candidates, ElementsAre("c"));
    EXPECT_EQ(found.wish, "metadata.name In (c)");
}

/// The proposal's first negative test.
TEST_F(MoveForecastTest, NodeThatTheVmsOwnSelectorKeepsOutLetsItWait) {
    vmi().node_selector = test::kube_labels({{"disk", "ssd"}});
    to("d");

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::pending);
    EXPECT_EQ(found.give_up_seconds, 300);
    EXPECT_THAT(found.candidates, IsEmpty());
    EXPECT_THAT(codes(found), ElementsAre("no-candidate", "selector"));
    EXPECT_THAT(texts(found), HasSubstr("d: the target node has no label disk=ssd"));
    EXPECT_FALSE(found.uncertain);
}

/// The second and third one.
TEST_F(MoveForecastTest, NodesThatAreAbsentOrItsOwnLetItWait) {
    to("z");
    request.give_up_seconds = 20;
    EXPECT_EQ(forecast().verdict, MoveVerdict::pending);
    EXPECT_EQ(forecast().give_up_seconds, 20);
    EXPECT_THAT(codes(forecast()), ElementsAre("node-absent"));
    EXPECT_THAT(texts(forecast()), HasSubstr("no node z"));

    to("a");
    EXPECT_EQ(forecast().verdict, MoveVerdict::pending);
    EXPECT_THAT(codes(forecast()), ElementsAre("already-there"));

    request.wish = {.added = {{host, "host-z"}}};
    EXPECT_THAT(codes(forecast()), ElementsAre("node-absent"));
    request.wish = {.added = {{"disk", "tape"}}};
    EXPECT_THAT(codes(forecast()), ElementsAre("no-node-matches"));
    request.wish = {.added = {{"disk", "hdd"}, {host, "host-b"}}};
    EXPECT_THAT(codes(forecast()), ElementsAre("no-node-matches"));
    EXPECT_THAT(texts(forecast()), HasSubstr("disk=hdd, kubernetes.io/hostname=host-b"));
    request.wish = {.added = {{"disk", "hdd"}},
                    .term = migration::NodeSelectorTerm{
                        .expressions = {{host, "In", {"host-b", "host-z"}}}, .fields = {}}};
    EXPECT_THAT(codes(forecast()), ElementsAre("no-node-matches")) << "host-b is there";
}

/// Case 24, each of its sentences.
TEST_F(MoveForecastTest, StockSelectorIsJudgedAsKubeVirtOverlaysIt) {
    vmi().node_selector = test::kube_labels({{"disk", "ssd"}});
    request.wish.added = {{"disk", "nvme"}};
    auto found = forecast();
    EXPECT_EQ(found.verdict, MoveVerdict::ok);
    EXPECT_THAT(found.ignored_keys, ElementsAre("disk"));
    EXPECT_THAT(codes(found), ElementsAre("ignored-key"));
    EXPECT_THAT(texts(found), AllOf(HasSubstr("disk=nvme"), HasSubstr("disk=ssd")));
    EXPECT_THAT(found.candidates, ElementsAre("b", "c"));

    request.wish.added = {{host, "host-a"}};
    found = forecast();
    EXPECT_EQ(found.verdict, MoveVerdict::refused);
    EXPECT_THAT(codes(found), ElementsAre("already-there"));
    EXPECT_THAT(found.candidates, IsEmpty());
    EXPECT_FALSE(found.give_up_seconds);

    test::cordon(objects.nodes[1], std::nullopt);
    request.wish.added = {{host, "host-b"}};
    found = forecast();
    EXPECT_EQ(found.verdict, MoveVerdict::pending);
    EXPECT_EQ(found.give_up_seconds, 300);
    EXPECT_THAT(codes(found), ElementsAre("no-candidate", "unschedulable"));
    EXPECT_THAT(texts(found), HasSubstr("b: the node is cordoned"));
}

TEST_F(MoveForecastTest, KeysOfClusterAndCpuStayToo) {
    objects.kubevirts[0].node_selectors = test::kube_labels({{"disk", "ssd"}});
    request.wish.added = {{"disk", "hdd"},
                          {"kubernetes.io/arch", "arm64"},
                          {"kubevirt.io/schedulable", "false"},
                          {"machine-type.node.kubevirt.io/q35", "false"},
                          {"cpu-model-migration.node.kubevirt.io/Large", "false"}};

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::ok);
    EXPECT_THAT(found.candidates, ElementsAre("b", "c"));
    EXPECT_EQ(found.ignored_keys.size(), 5U);
}

TEST_F(MoveForecastTest, VendorThatIsAddedReplacesTheSources) {
    const std::string amd = "cpu-vendor.node.kubevirt.io/AMD";
    request.wish.added = {{amd, "true"}};
    EXPECT_THAT(codes(forecast()), ElementsAre("no-node-matches"));

    auto labels = test::plain_labels();
    labels.erase("cpu-vendor.node.kubevirt.io/Intel");
    labels[amd] = "true";
    objects.nodes[2] = test::node_object("c", labels);
    const auto placement = place_vmi(objects, vmi(), {}, &map, request.wish);
    EXPECT_EQ(placement.nodes[1].node, "c");
    EXPECT_EQ(placement.nodes[1].comparison.gate, migration::Verdict::can)
        << "its vendor is not asked for";
    EXPECT_EQ(placement.nodes[0].comparison.gate, migration::Verdict::cannot);
}

/// Case 11.
TEST_F(MoveForecastTest, StaleSelectorsAreToldFromHardwareThatIsNotThere) {
    objects.launchers[0].migration_uid = "m1";
    objects.launchers[0].node_selector =
        test::kube_labels({{"cpu-model-migration.node.kubevirt.io/OldModel", "true"},
                           {"cpu-feature.node.kubevirt.io/f1", "true"},
                           {"cpu-feature.node.kubevirt.io/avx", "true"}});
    to("b");

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::pending);
    EXPECT_THAT(codes(found), ElementsAre("no-candidate", "stale-selector"));
    EXPECT_THAT(texts(found), HasSubstr("stale selectors"));
    EXPECT_THAT(found.notes, Contains(HasSubstr("no node fits: stale selectors OldModel, f1")));
}

TEST_F(MoveForecastTest, WhatCannotBeToldIsNeverACandidate) {
    vmi().other_demands = {"launchSecurity"};

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::pending);
    EXPECT_THAT(found.candidates, IsEmpty());
    EXPECT_TRUE(found.uncertain);
    EXPECT_THAT(codes(found), ElementsAre("no-candidate", "not-certain"));
    EXPECT_THAT(texts(found), HasSubstr("b, c, d: it cannot be told"));
}

TEST_F(MoveForecastTest, CertainNodesSufficeAndTheOthersAreTold) {
    auto labels = test::plain_labels();
    labels.erase("cpu-feature.node.kubevirt.io/sse");
    objects.nodes[2] = test::node_object("c", labels);

    const auto found = forecast();

    EXPECT_EQ(found.verdict, MoveVerdict::ok);
    EXPECT_THAT(found.candidates, ElementsAre("b", "d"));
    EXPECT_THAT(codes(found), ElementsAre("gap")) << "KubeVirt would take c, and fail there";
    EXPECT_THAT(texts(found), HasSubstr("c: KubeVirt would send it there"));

    to("c");
    EXPECT_EQ(forecast().verdict, MoveVerdict::refused) << "it would not wait, it would fail";
    EXPECT_FALSE(forecast().give_up_seconds);
    EXPECT_THAT(codes(forecast()), ElementsAre("no-candidate", "gap"));
}

TEST_F(MoveForecastTest, WhatKubeVirtRefusesIsRefused) {
    request.vmi = "wed";
    EXPECT_EQ(verdict(), "refused");
    EXPECT_THAT(codes(forecast()), ElementsAre("vmi-missing"));
    EXPECT_THAT(texts(forecast()), HasSubstr("did you mean 'shop/web'?"));
    request.vmi = "shop/web";
    request.space = {};
    EXPECT_THAT(codes(forecast()), ElementsAre("vmi-missing")) << "no name of a VMI";
    request.vmi = "web";
    EXPECT_EQ(verdict(), "ok") << "its namespace is the VMI's";

    kube::Migration other;
    other.meta = {.space = text("shop"), .name = "other", .uid = {}, .version = {}};
    other.vmi_name = text("web");
    other.phase = text("Pending");
    objects.migrations.push_back(other);
    EXPECT_THAT(codes(forecast()), ElementsAre("under-way"));
    objects.migrations[0].phase = text("Failed");
    EXPECT_EQ(verdict(), "ok");
    objects.migrations[0].meta.name = "move";
    EXPECT_THAT(codes(forecast()), ElementsAre("name-taken"));
    objects.migrations.clear();

    vmi().phase = text("Succeeded");
    EXPECT_THAT(codes(forecast()), ElementsAre("not-running"));
    EXPECT_EQ(verdict(), "refused");
    vmi().phase = text("Running");
    vmi().conditions.push_back({.type = text("LiveMigratable"),
                                .status = text("False"),
                                .reason = text("DisksNotLiveMigratable"),
                                .message = {},
                                .since = {}});
    EXPECT_THAT(codes(forecast()), ElementsAre("not-migratable"));
}

TEST_F(MoveForecastTest, OfWhatIsMadeItIsSaidWhatWasNotLookedAt) {
    const auto told = [this] {
        std::string out;
        for (const auto& note : forecast().notes) {
            out += note + "\n";
        }
        return out;
    };
    const auto unseen = AllOf(HasSubstr("ResourceQuotas of namespace shop"),
                              HasSubstr("migrationRejectedByResourceQuota"), HasSubstr("a backup"),
                              HasSubstr("utility volumes"));
    EXPECT_THAT(told(), unseen) << verdict();
    to("z");
    EXPECT_THAT(told(), unseen) << verdict();
    vmi().phase = text("Failed");
    EXPECT_THAT(told(), testing::Not(HasSubstr("not looked at"))) << "it is refused";
}

TEST_F(MoveForecastTest, SeveralVmisOfTheNameAreAnError) {
    request.space = {};
    objects.vmis.push_back(vmi());
    objects.vmis.back().meta.space = text("test");

    const auto found = forecast_move(objects, request, {}, &map);

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::invalid);
}

TEST_F(MoveForecastTest, WhatWaitsWithoutAnEndIsSaidSo) {
    vmi().deletion = WallTime{} + std::chrono::hours{1};
    EXPECT_THAT(codes(forecast()), ElementsAre("being-deleted"));
    EXPECT_EQ(verdict(), "pending");
    EXPECT_FALSE(forecast().give_up_seconds);
    vmi().deletion.reset();

    request.send_to = {.id = "x", .url = "10.0.0.1:9185"};
    EXPECT_THAT(codes(forecast()), ElementsAre("decentralized")) << "its gate is off";
    objects.kubevirts[0].feature_gates = {text("DecentralizedLiveMigration")};
    EXPECT_THAT(codes(forecast()), ElementsAre("other-cluster"));
    EXPECT_EQ(verdict(), "pending");
    request.receive = {.id = "x", .url = {}};
    EXPECT_EQ(verdict(), "ok") << "a plain local move";
    request.send_to.reset();
    request.receive.reset();

    for (const char* phase : {"", "Pending", "Scheduling", "Scheduled"}) {
        vmi().phase = text(phase);
        EXPECT_THAT(codes(forecast()), ElementsAre("not-running")) << phase;
        EXPECT_EQ(verdict(), "pending");
        EXPECT_FALSE(forecast().give_up_seconds);
    }
    vmi().node = text("");
    EXPECT_THAT(codes(forecast()), ElementsAre("not-running")) << "no node yet";
    vmi().node = text("a");
    vmi().phase = text("Running");

    objects.nodes.erase(objects.nodes.begin());
    EXPECT_THAT(codes(forecast()), ElementsAre("source-absent"));
    EXPECT_FALSE(forecast().give_up_seconds);
}

TEST_F(MoveForecastTest, SentinelOfATermIsTakenOff) {
    to("b");
    request.wish.added = {{std::string{migration::sentinel_key}, "0123"}};
    EXPECT_THAT(forecast().candidates, ElementsAre("b"));
}

TEST_F(MoveForecastTest, NodesOfOneFateAreToldTogether) {
    objects.nodes.clear();
    objects.nodes.push_back(test::node_object("a"));
    for (unsigned i = 0; i < 3000; ++i) {
        auto name = std::to_string(i);
        name = "n" + std::string(4 - name.size(), '0') + name;
        objects.nodes.push_back(test::node_object(name));
        test::cordon(objects.nodes.back(), std::nullopt);
    }

    const auto found = forecast();

    EXPECT_THAT(codes(found), ElementsAre("no-candidate", "unschedulable"));
    EXPECT_THAT(texts(found), HasSubstr("n0000, n0001, n0002, n0003, n0004 and 2995 more: the "
                                        "node is cordoned"));
}

/// The tables of the dump's own description.
class LiveForecastTest : public testing::Test {
protected:
    void SetUp() override {
        SCOUT_TEST_DATA_OR_SKIP(data);
        dump = read_dump({data / "kubevirt" / "live"}).value();
        map = documents::load_cpu_map(data / "libvirt" / "cpu_map").value();
    }
    [[nodiscard]] MoveForecast ask(const std::string& vmi, migration::MoveWish wish = {}) const {
        MoveRequest request;
        request.space = "shop";
        request.vmi = vmi;
        request.wish = std::move(wish);
        request.term_path = "term";
        return forecast_move(dump.objects, request, dump.moment, &map).value();
    }
    static migration::MoveWish on(const std::string& node) {
        return {.added = {},
                .term = migration::NodeSelectorTerm{.expressions = {},
                                                    .fields = {{"metadata.name", "In", {node}}}}};
    }

    Dump dump;
    migration::CpuMap map;
};

TEST_F(LiveForecastTest, AnswersAsTheDumpDoes) {
    EXPECT_THAT(ask("web-2").candidates, ElementsAre("node-a"));
    EXPECT_THAT(ask("db-1").candidates, ElementsAre("node-c"));
    EXPECT_EQ(ask("web-2", on("node-a")).verdict, MoveVerdict::ok);

    const auto cordoned = ask("web-2", on("node-b"));
    EXPECT_EQ(cordoned.verdict, MoveVerdict::pending);
    EXPECT_EQ(cordoned.give_up_seconds, 300);
    EXPECT_THAT(codes(cordoned), ElementsAre("no-candidate", "unschedulable"));

    const auto lacking = ask("web-2", on("node-h"));
    EXPECT_THAT(codes(lacking), ElementsAre("no-candidate", "feature"));
    EXPECT_THAT(texts(lacking), HasSubstr("pcid, ssbd"));

    EXPECT_THAT(codes(ask("web-2", on("node-c"))), ElementsAre("already-there"));
    EXPECT_THAT(codes(ask("nomig-1")), ElementsAre("not-migratable"));
    EXPECT_THAT(codes(ask("evac-1")), Contains("under-way"));
    EXPECT_EQ(ask("web-2", {.added = {{"kubernetes.io/hostname", "node-c"}}}).verdict,
              MoveVerdict::refused);
}

}  // namespace
}  // namespace scout::cluster
