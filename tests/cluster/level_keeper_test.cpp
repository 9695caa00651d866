// SPDX-License-Identifier: Apache-2.0
#include "cluster/level_keeper.h"

#include <algorithm>
#include <map>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/node_objects.h"
#include "tests/support/profiles.h"

namespace scout::cluster {

std::ostream& operator<<(std::ostream& out, const LevelLabel& label) {
    return out << "level " << (label.level ? std::to_string(*label.level) : "none") << ", carried "
               << label.carried.value_or("none");
}

namespace {

using migration::Layer;
using std::chrono::minutes;
using std::chrono::seconds;
using test::cordon;
using test::node_object;
using test::plain_labels;
using testing::IsEmpty;

const WallTime start{std::chrono::hours{500'000}};

using Told = std::map<std::string, LevelLabel>;

Told take(LevelKeeper& keeper) {
    Told out;
    for (auto& change : keeper.take_changes()) {
        EXPECT_TRUE(out.emplace(change.name, change.label).second) << change.name << " twice";
    }
    return out;
}

migration::Labels labelled(const std::string& level, migration::Labels labels = plain_labels()) {
    labels[std::string{level_label}] = level;
    return labels;
}

TEST(LevelKeeperTest, TellsWhatTheLabelsShouldSay) {
    LevelKeeper keeper({}, {});
    keeper.put(node_object("a"), start);
    EXPECT_EQ(take(keeper), (Told{{"a", {0, std::nullopt}}}));
    keeper.put(node_object("b"), start);
    keeper.put(node_object("c", labelled("100")), start);

    EXPECT_EQ(take(keeper), (Told{{"a", {100, std::nullopt}}, {"b", {100, std::nullopt}}}));
    EXPECT_EQ(keeper.find("c"), (LevelLabel{100, "100"}));
    EXPECT_EQ(keeper.find("d"), std::nullopt);
    EXPECT_THAT(keeper.take_changes(), IsEmpty());
}

TEST(LevelKeeperTest, TellsOnceThatALabelIsInStepAgain) {
    LevelKeeper keeper({}, {});
    keeper.put(node_object("a"), start);
    keeper.put(node_object("b"), start);
    EXPECT_EQ(take(keeper).size(), 2U);

    keeper.put(node_object("a", labelled("100")), start);

    EXPECT_EQ(take(keeper), (Told{{"a", {100, "100"}}}));
    keeper.put(node_object("a", labelled("100")), start);
    EXPECT_THAT(keeper.take_changes(), IsEmpty()) << "a heartbeat changes nothing";
}

TEST(LevelKeeperTest, SeesWhatOthersWroteIntoItsLabel) {
    LevelKeeper keeper({}, {});
    keeper.put(node_object("a", labelled("0")), start);
    EXPECT_THAT(keeper.take_changes(), IsEmpty());
    for (const char* value : {"1", "00", "", "\xc3\xa4", "-1", "zero"}) {
        keeper.put(node_object("a", labelled(value)), start);
        EXPECT_EQ(take(keeper), (Told{{"a", {0, value}}}));
    }
}

TEST(LevelKeeperTest, TellsHowTheNodesOfAnArchitectureStand) {
    auto other = plain_labels();
    other["kubernetes.io/arch"] = "s390x";
    LevelKeeper keeper({}, {});
    for (const char* name : {"d", "b", "c"}) {
        keeper.put(node_object(name, plain_labels("Small")), start);
    }
    auto demanding = plain_labels();
    demanding["host-model-required-features.node.kubevirt.io/avx"] = "true";
    keeper.put(node_object("a", demanding), start);
    keeper.put(node_object("alone", other), start);

    const auto standing = keeper.standing("amd64");
    EXPECT_EQ(standing.counted, 4U);
    EXPECT_EQ(standing.best, 100U);
    EXPECT_EQ(standing.with_best, 3U);

    EXPECT_EQ(keeper.standing("s390x").counted, 1U);
    EXPECT_EQ(keeper.standing("s390x").best, 0U);
    EXPECT_EQ(keeper.standing("riscv64").counted, 0U);
    EXPECT_EQ(keeper.standing({}).counted, 4U);
    EXPECT_EQ(keeper.standing({}).with_best, 3U);
}

TEST(LevelKeeperTest, WantsNoLabelOnNodesThatDoNotCount) {
    auto closed = labelled("100");
    closed["kubevirt.io/schedulable"] = "false";
    LevelKeeper keeper({}, {});
    keeper.put(node_object("a", closed), start);
    keeper.put(node_object("master", {{"kubernetes.io/arch", "amd64"}}), start);

    EXPECT_EQ(take(keeper), (Told{{"a", {std::nullopt, "100"}}}));
}

TEST(LevelKeeperTest, SaysWhenAGraceEndsAndCountsAnewThen) {
    LevelKeeper keeper({}, {});
    for (const char* name : {"a", "b"}) {
        keeper.put(node_object(name, labelled("100")), start);
    }
    auto c = node_object("c", labelled("100"));
    keeper.put(c, start);
    EXPECT_EQ(keeper.next(), std::nullopt);
    cordon(c, start + seconds{1});
    keeper.put(c, start + seconds{1});
    EXPECT_THAT(keeper.take_changes(), IsEmpty());
    EXPECT_EQ(keeper.next(), start + minutes{10} + seconds{1});

    keeper.pass(start + minutes{10});
    EXPECT_THAT(keeper.take_changes(), IsEmpty());
    keeper.pass(start + minutes{10} + seconds{1});

    EXPECT_EQ(take(keeper), (Told{{"c", {std::nullopt, "100"}}}));
    EXPECT_EQ(keeper.next(), std::nullopt);
    test::uncordon(c);
    keeper.put(c, start + minutes{20});
    EXPECT_EQ(take(keeper), (Told{{"c", {100, "100"}}}));
}

TEST(LevelKeeperTest, ACordonIsSeenBeforeItsTaintTellsTheTime) {
    auto a = node_object("a", labelled("0"));
    LevelKeeper keeper({}, {});
    keeper.put(a, start);
    cordon(a, std::nullopt);
    keeper.put(a, start + seconds{10});
    keeper.put(a, start + seconds{20});
    EXPECT_THAT(keeper.take_changes(), IsEmpty());
    EXPECT_EQ(keeper.next(), start + seconds{10} + minutes{10});

    LevelKeeper other({}, {});
    other.put(a, start);
    EXPECT_EQ(take(other), (Told{{"a", {std::nullopt, "0"}}})) << "nobody knows since when";
}

TEST(LevelKeeperTest, ARemovedNodeIsForgottenWithItsGrace) {
    LevelKeeper keeper({}, {});
    keeper.put(node_object("a"), start);
    auto b = node_object("b");
    cordon(b, start);
    keeper.put(b, start);

    keeper.remove("b");
    keeper.remove("never");

    EXPECT_EQ(take(keeper), (Told{{"a", {0, std::nullopt}}}));
    EXPECT_EQ(keeper.next(), std::nullopt);
    EXPECT_EQ(keeper.nodes(), 1U);
}

TEST(LevelKeeperTest, StartsOverWithOtherOptionsAndKeepsWhatItSaw) {
    const auto map = scout::test::small_map();
    auto l = node_object("l", labelled("100"));
    const auto s = node_object("s", labelled("100", plain_labels("Small")));
    LevelKeeper keeper({.map = &map}, {});
    keeper.put(l, start);
    keeper.put(s, start);
    cordon(l, std::nullopt);
    keeper.put(l, start);
    EXPECT_THAT(keeper.take_changes(), IsEmpty());

    keeper.start_over({.layer = Layer::truth, .map = &map}, {});
    keeper.put(l, start + minutes{1});
    keeper.put(s, start + minutes{1});

    EXPECT_EQ(take(keeper), (Told{{"l", {0, "100"}}}));
    EXPECT_EQ(keeper.next(), start + minutes{10});
    auto kubevirt = test::kubevirt_object();
    kubevirt.machine = kube::SharedText{"pc-q35-9"};
    keeper.start_over({.map = &map}, {kubevirt});
    keeper.put(l, start + minutes{2});
    keeper.put(s, start + minutes{2});
    EXPECT_EQ(take(keeper), (Told{{"s", {0, "100"}}})) << "no node offers that machine type";
}

}  // namespace
}  // namespace scout::cluster
