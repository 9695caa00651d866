// SPDX-License-Identifier: Apache-2.0
#include "cluster/label_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cpu_profile.h"
#include "cluster/levels.h"
#include "tests/cluster/node_objects.h"

namespace scout::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const SteadyTime start{std::chrono::hours{1000}};
const NodeMarks nothing;

NodeMarks level(const char* value) {
    return {.level = value, .profile = {}, .former_profile = {}};
}

const std::string profile_a = "cpu-" + std::string(40, 'a');
const std::string profile_b = "cpu-" + std::string(40, 'b');
const std::string profile_c = "cpu-" + std::string(40, 'c');

std::vector<std::string> names(const std::vector<LabelPlan::Write>& writes) {
    std::vector<std::string> out;
    for (const auto& write : writes) {
        out.push_back(write.node);
    }
    return out;
}

NodeName named(const std::string& node) {
    return {.name = node, .uid = "uid of " + node};
}

/// A plan and the time; writes are taken whenever the plan asks for it.
class LabelPlanTest : public ::testing::Test {
protected:
    /// Lets time pass and returns what was begun meanwhile, with the time since the start.
    std::vector<std::pair<std::string, milliseconds>> pass(milliseconds time) {
        const auto end = now + time;
        std::vector<std::pair<std::string, milliseconds>> begun;
        while (plan.next() && *plan.next() <= end) {
            now = std::max(now, *plan.next());
            const auto writes = plan.take(now);
            EXPECT_FALSE(writes.empty()) << "next() says that there is something";
            for (const auto& write : writes) {
                begun.emplace_back(write.node, std::chrono::ceil<milliseconds>(now - start));
                last = write;
            }
        }
        now = end;
        return begun;
    }
    void set(const char* node, const NodeMarks& wanted, const NodeMarks& carried) {
        plan.set(named(node), wanted, carried, now);
    }
    void done(const char* node, bool accepted = true) { plan.done(node, accepted, now); }

    SteadyTime now = start;
    LabelPlan plan{{}, 7, start};
    LabelPlan::Write last;
};

TEST(LabelBodyTest, AnApplyNamesTheObjectAndTheLabel) {
    EXPECT_EQ(apply_body({.name = "n\"1", .uid = "u"}, level("50")),
              R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n\"1","uid":"u",)"
              R"("labels":{"kubevirt/host-model-migratability-level":"50"}}})");
    EXPECT_EQ(apply_body({.name = "n", .uid = "u"}, nothing),
              R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u"}})");
}

TEST(LabelBodyTest, LabelAndAnnotationsGoInOnePatch) {
    EXPECT_EQ(apply_body({.name = "n", .uid = "u"},
                         {.level = "50", .profile = "p", .former_profile = "q"}),
              R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u",)"
              R"("annotations":{"virt-scout.io/cpu-profile":"p",)"
              R"("virt-scout.io/cpu-profile-before":"q"},)"
              R"("labels":{"kubevirt/host-model-migratability-level":"50"}}})");
}

TEST(NodeMarksTest, AreReadFromTheNodeAndWhatIsNoNameCountsAsNone) {
    auto node = test::node_object("n", {{std::string{level_label}, "7"}});
    node.annotations = kube::Labels{{profile_annotation, profile_a},
                                    {former_profile_annotation, "Something Else"}};

    EXPECT_EQ(carried_marks(node),
              (NodeMarks{.level = "7", .profile = profile_a, .former_profile = {}}));
    EXPECT_EQ(carried_marks(test::node_object("n")), nothing);
}

TEST(NodeMarksTest, AnAgentThatIsAwayChangesNothing) {
    const NodeMarks carried{.level = "7", .profile = profile_a, .former_profile = profile_b};

    EXPECT_EQ(wanted_marks(carried, 7, ""), carried);
    EXPECT_EQ(wanted_marks(carried, 7, profile_a), carried);
    EXPECT_EQ(wanted_marks(carried, std::nullopt, "").level, std::nullopt);
}

TEST(NodeMarksTest, TheProfileBeforeIsKeptInTheSamePatch) {
    const NodeMarks carried{.level = "7", .profile = profile_a, .former_profile = profile_b};

    EXPECT_EQ(wanted_marks(carried, 9, profile_c),
              (NodeMarks{.level = "9", .profile = profile_c, .former_profile = profile_a}));
    EXPECT_EQ(wanted_marks(nothing, 9, profile_c),
              (NodeMarks{.level = "9", .profile = profile_c, .former_profile = {}}));
    const NodeMarks lost{.level = "9", .profile = {}, .former_profile = profile_a};
    EXPECT_EQ(wanted_marks(lost, 9, profile_c).former_profile, profile_a);
}

TEST(LabelBodyTest, ARemovalTakesTheLabelOfThatObjectAlone) {
    EXPECT_EQ(
        removal_body({.name = "n", .uid = "u"}),
        R"({"metadata":{"uid":"u","labels":{"kubevirt/host-model-migratability-level":null}}})");
}

TEST_F(LabelPlanTest, NothingIsWrittenWhereNothingIsWrong) {
    set("a", level("50"), level("50"));
    EXPECT_EQ(plan.next(), std::nullopt);
    EXPECT_THAT(plan.take(now + seconds{60}), IsEmpty());
}

TEST_F(LabelPlanTest, AChangeWaitsForAQuietTimeAndIsWrittenOnce) {
    set("a", level("10"), nothing);
    EXPECT_THAT(pass(milliseconds{900}), IsEmpty());
    set("a", level("20"), nothing);
    EXPECT_THAT(pass(milliseconds{900}), IsEmpty());

    EXPECT_THAT(pass(seconds{1}), ElementsAre(std::pair{"a", milliseconds{1900}}));

    EXPECT_EQ(last.body, apply_body(named("a"), level("20")));
    EXPECT_FALSE(last.merge);
    EXPECT_THAT(plan.take(now), IsEmpty()) << "it is under way";
    set("a", level("20"), level("20"));
    done("a");
    EXPECT_THAT(pass(seconds{600}), IsEmpty());
}

TEST_F(LabelPlanTest, AChangeDoesNotWaitForEver) {
    for (int i = 0; i < 100; ++i) {
        set("a", level(std::to_string(i).c_str()), nothing);
        if (!pass(milliseconds{100}).empty()) {
            EXPECT_EQ(i, 29);
            return;
        }
    }
    FAIL() << "it was never written";
}

TEST_F(LabelPlanTest, WhatIsRightAgainInTimeIsNotWritten) {
    set("a", level("10"), level("20"));
    set("a", level("20"), level("20"));
    EXPECT_EQ(plan.waiting(), 0U);
    EXPECT_EQ(plan.next(), std::nullopt);
}

TEST_F(LabelPlanTest, ANodeIsNeverWrittenTwiceAtATime) {
    set("a", level("10"), nothing);
    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    set("a", level("20"), nothing);
    EXPECT_THAT(pass(seconds{30}), IsEmpty());

    done("a");

    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    EXPECT_EQ(last.body, apply_body(named("a"), level("20")));
}

TEST_F(LabelPlanTest, OldNewsOfANodeDoesNotRepeatTheWrite) {
    set("a", level("10"), level("5"));
    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    done("a");
    set("a", level("10"), level("5"));
    EXPECT_THAT(pass(seconds{9}), IsEmpty());
    EXPECT_THAT(names(plan.take(now + seconds{2})), ElementsAre("a")) << "it did not show";
}

TEST_F(LabelPlanTest, AFailedWriteIsTriedAgainAtLongerAndLongerIntervals) {
    set("a", level("10"), nothing);
    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    std::vector<seconds> most{seconds{2}, seconds{3}, seconds{5}, seconds{10}, seconds{20}};
    auto before = now;
    for (const auto limit : most) {
        done("a", false);
        before = now;
        ASSERT_TRUE(plan.next());
        now = *plan.next();
        EXPECT_LE(now - before, limit);
        EXPECT_GE(now - before, limit / 4);
        EXPECT_THAT(names(plan.take(now)), ElementsAre("a"));
    }
    for (int i = 0; i < 100; ++i) {
        done("a", false);
        set("a", level(i % 2 == 0 ? "11" : "12"), nothing);
        before = now;
        now = plan.next().value();
        EXPECT_THAT(names(plan.take(now)), ElementsAre("a"));
    }
    EXPECT_LE(now - before, seconds{75}) << "never longer than the longest";
    EXPECT_GE(now - before, seconds{45}) << "a change does not shorten it";
    set("a", level("11"), level("11"));
    done("a");
    EXPECT_EQ(plan.next(), std::nullopt);
}

/// Who wrote a label is not asked: no apply would take away what is somebody else's.
TEST_F(LabelPlanTest, ALabelIsTakenAwayByAMergePatch) {
    set("a", nothing, level("50"));
    EXPECT_EQ(pass(seconds{2}).size(), 1U);

    EXPECT_TRUE(last.merge);
    EXPECT_EQ(last.body, removal_body(named("a")));
    done("a", false);
    EXPECT_EQ(pass(seconds{20}).size(), 1U);
    EXPECT_TRUE(last.merge) << "an error changes nothing";
    done("a");
    set("a", level("50"), level("40"));
    EXPECT_EQ(pass(seconds{20}).size(), 1U);
    EXPECT_FALSE(last.merge);
}

TEST_F(LabelPlanTest, AfterARemovalTheAnnotationsDoNotWait) {
    const NodeMarks carried{.level = "10", .profile = profile_a, .former_profile = {}};
    const auto wanted = wanted_marks(carried, std::nullopt, profile_b);
    set("a", wanted, carried);
    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    EXPECT_TRUE(last.merge);
    set("a", wanted, {.level = {}, .profile = profile_a, .former_profile = {}});
    done("a");

    EXPECT_EQ(pass(seconds{3}).size(), 1U);

    EXPECT_EQ(last.body, apply_body(named("a"), wanted));
}

TEST_F(LabelPlanTest, AnAnnotationAloneIsWrittenToo) {
    const NodeMarks carried{.level = "10", .profile = profile_a, .former_profile = {}};
    const auto wanted = wanted_marks(carried, 10, profile_b);
    set("a", wanted, carried);

    EXPECT_EQ(pass(seconds{2}).size(), 1U);

    EXPECT_EQ(last.body, apply_body(named("a"), wanted));
    set("a", wanted, wanted);
    done("a");
    EXPECT_EQ(plan.next(), std::nullopt);
}

TEST_F(LabelPlanTest, AGoneNodeIsForgottenButNotItsWriteUnderWay) {
    set("a", level("10"), nothing);
    plan.forget("a");
    EXPECT_EQ(plan.next(), std::nullopt);
    plan.forget("never");

    set("a", level("10"), nothing);
    EXPECT_EQ(pass(seconds{2}).size(), 1U);
    plan.forget("a");
    set("a", level("30"), nothing);
    EXPECT_THAT(pass(seconds{10}), IsEmpty()) << "the write of the node before it is under way";
    done("a", false);
    EXPECT_EQ(pass(seconds{3}).size(), 1U);
    EXPECT_EQ(last.body, apply_body(named("a"), level("30")));
    plan.forget("a");
    done("a");
    EXPECT_EQ(plan.next(), std::nullopt);
    EXPECT_THROW(done("a"), std::logic_error);
}

/// Begins and ends writes at once; the most of them in any second.
class LabelPlanRateTest : public LabelPlanTest {
protected:
    void change_all(const char* value) {
        for (int i = 0; i < nodes; ++i) {
            set(("n" + std::to_string(i)).c_str(), level(value), nothing);
        }
    }
    void write_all(const char* value) {
        std::deque<SteadyTime> last_second;
        begun = 0;
        most = 0;
        apart.clear();
        const auto first = now;
        while (plan.next()) {
            const auto before = std::exchange(now, std::max(now, *plan.next()));
            if (begun > 0) {
                apart.insert(now - before);
            }
            for (const auto& write : plan.take(now)) {
                ++begun;
                last_second.push_back(now);
                set(write.node.c_str(), level(value), level(value));
                done(write.node.c_str());
            }
            std::erase_if(last_second, [this](auto time) { return now - time >= seconds{1}; });
            most = std::max(most, last_second.size());
        }
        took = now - first;
    }

    static constexpr int nodes = 1000;
    int begun = 0;
    std::size_t most = 0;
    SteadyTime::duration took{};
    std::multiset<SteadyTime::duration> apart;  ///< one write and the next
};

TEST_F(LabelPlanRateTest, TheFirstFillIsFasterThanWhatFollows) {
    change_all("10");
    write_all("10");
    EXPECT_EQ(begun, nodes);
    EXPECT_LE(most, 105U);
    EXPECT_GE(took, seconds{10});
    EXPECT_LE(took, seconds{13});

    pass(seconds{30});
    change_all("20");
    write_all("20");
    EXPECT_EQ(begun, nodes);
    EXPECT_LE(most, 20U);
    EXPECT_LE(took, seconds{60});
}

/// Else they would stay in step with whatever else the API server is asked at even intervals.
TEST_F(LabelPlanRateTest, WritesAreFartherApartByUpToATenth) {
    pass(seconds{60});
    change_all("10");
    write_all("10");

    ASSERT_EQ(apart.size(), std::size_t{nodes} - 1);
    EXPECT_GE(*apart.begin(), milliseconds{50});
    EXPECT_LE(*apart.begin(), milliseconds{51});
    EXPECT_LE(*apart.rbegin(), milliseconds{55});
    EXPECT_GE(*apart.rbegin(), milliseconds{54});
}

TEST_F(LabelPlanRateTest, ALeaderThatFoundEverythingRightDoesNotFillLater) {
    pass(seconds{60});
    change_all("10");
    write_all("10");
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, 20U);
}

TEST_F(LabelPlanRateTest, WhatChangesAllTheTimeDoesNotProlongTheFirstFill) {
    const auto end = start + LabelPlanRules{}.first_fill_least + seconds{10};
    for (int i = 0; now < end; ++i) {
        plan.set(named("restless" + std::to_string(i)), level("10"), nothing, now);
        for (const auto& [node, at] : pass(milliseconds{500})) {
            plan.set(named(node), level("10"), level("10"), now);
            done(node.c_str());
        }
    }
    change_all("10");
    write_all("10");
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, 20U);
}

TEST_F(LabelPlanRateTest, ALateLoopCatchesUpALittleWhileItFills) {
    change_all("10");
    for (int i = 0; i < 3; ++i) {
        now += seconds{10};
        const auto writes = plan.take(now);
        EXPECT_GE(writes.size(), 2U);
        EXPECT_LE(writes.size(), 6U) << "time that nobody used is not saved up";
        for (const auto& write : writes) {
            done(write.node.c_str());
        }
    }
}

TEST_F(LabelPlanRateTest, AtMostSoManyAreUnderWay) {
    change_all("10");
    pass(seconds{60});
    EXPECT_EQ(plan.under_way(), LabelPlanRules{}.under_way);
    EXPECT_EQ(plan.next(), std::nullopt) << "one must end first";
    done(last.node.c_str());
    EXPECT_TRUE(plan.next());
}

}  // namespace
}  // namespace scout::cluster
