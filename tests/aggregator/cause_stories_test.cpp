// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cause_stories.h"

#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <gmock/gmock.h>

#include "tests/aggregator/causes_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using migration::Cause;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr const char* pod = "virt-launcher-web-a";

/// VM shop/web, as users ask of it. What ended before is kept by hand.
class CauseStoriesTest : public CausesFixture {
protected:
    void run_vm(const std::string& node, json::object status = {}) {
        status["activePods"] = {{"uid of " + std::string{pod}, "n1"}};
        put_vmi("web", node, std::move(status));
    }
    /// Its pod is gone.
    void put_deleted_vmi() { put_vmi("web", "n1", {}, {{"deletionTimestamp", now()}}); }
    void put_pod(json::object status, bool deleted = false) {
        json::object metadata;
        if (deleted) {
            metadata = {{"deletionTimestamp", rfc3339(clock.wall() + 60s)},
                        {"deletionGracePeriodSeconds", 60}};
        }
        api.put("pods", launcher(pod, std::move(status), std::move(metadata)));
    }
    void put_tainted_pod() {
        const json::object told{{"type", "DisruptionTarget"},
                                {"status", "True"},
                                {"reason", "DeletionByTaintManager"},
                                {"lastTransitionTime", now()}};
        put_pod({{"phase", "Running"}, {"conditions", json::array{told}}}, true);
    }
    /// Of a VMI before this one.
    void keep_end(const std::string& name, const std::string& vmi_uid = "vmi before") {
        history.put(KeptEnd{.space = "shop",
                            .vmi_name = "web",
                            .vmi_uid = vmi_uid,
                            .pod = name,
                            .pod_uid = "uid of " + name,
                            .node = "n0",
                            .phase = "Failed",
                            .ended = clock.wall(),
                            .answer = {.cause = Cause::liveness,
                                       .resource = {},
                                       .evidence = {"pod event Killing"},
                                       .certain = true,
                                       .ended = true}},
                    clock.wall());
    }
    [[nodiscard]] cluster::CauseStory tell(Question::Kind kind, const std::string& name,
                                           bool may_see_nodes = true) {
        start();
        EXPECT_TRUE(run_until([this] {
            return objects.nodes.synced() && objects.vmis.synced() && objects.launchers.synced();
        }));
        const CauseStories stories({.nodes = objects.nodes,
                                    .vmis = objects.vmis,
                                    .launchers = objects.launchers,
                                    .history = history});
        auto story = stories.tell(
            {.kind = kind, .space = "shop", .name = name, .may_see_nodes = may_see_nodes});
        EXPECT_TRUE(story) << story.error().message;
        return story.value_or(cluster::CauseStory{});
    }
};

TEST_F(CauseStoriesTest, WhatEndsNowIsToldBeforeWhatEndedBefore) {
    run_vm("n1");
    put_tainted_pod();
    keep_end("virt-launcher-web-old");

    const auto story = tell(Question::Kind::vmi_why, "web");

    EXPECT_EQ(story.answer.cause, Cause::taint);
    EXPECT_TRUE(story.answer.certain);
    EXPECT_FALSE(story.answer.ended);
    EXPECT_EQ(story.pod, pod);
    EXPECT_EQ(story.node, "n1");
}

TEST_F(CauseStoriesTest, OfThePodTooWhatEndsItNowIsTold) {
    run_vm("n1");
    put_tainted_pod();

    EXPECT_EQ(tell(Question::Kind::pod_why, pod).answer.cause, Cause::taint);
}

TEST_F(CauseStoriesTest, OfAVmThatRunsTheLastEndIsTold) {
    run_vm("n1");
    put_pod({{"phase", "Running"}});
    keep_end("virt-launcher-web-old");

    EXPECT_EQ(tell(Question::Kind::vmi_why, "web").pod, "virt-launcher-web-old");
}

/// The objects alone would tell of a launcher that ended, of whatever cause.
TEST_F(CauseStoriesTest, WhatIsKeptOfThisVeryEndIsToldAsLongAsItsObjectsAreThere) {
    run_vm("n1");
    put_pod({{"phase", "Failed"}});
    keep_end(pod, "vmi web");

    const auto story = tell(Question::Kind::vmi_why, "web");

    EXPECT_EQ(story.answer.cause, Cause::liveness);
    EXPECT_TRUE(story.answer.certain);
    EXPECT_EQ(story.pod, pod);
}

TEST_F(CauseStoriesTest, AnEndOfWhichNothingIsKeptYetIsJudged) {
    run_vm("n1");
    put_pod({{"phase", "Failed"}, {"reason", "NodeAffinity"}});
    keep_end("virt-launcher-web-old", "vmi web");

    EXPECT_EQ(tell(Question::Kind::vmi_why, "web").answer.cause, Cause::kubelet_readmission);
}

TEST_F(CauseStoriesTest, ThatAVmiIsDeletedAfterItsLauncherIsGoneIsNoCause) {
    put_deleted_vmi();
    keep_end(pod, "vmi web");

    EXPECT_EQ(tell(Question::Kind::vmi_why, "web").answer.cause, Cause::liveness);
}

TEST_F(CauseStoriesTest, ThatAVmiIsDeletedIsTheCauseWhereAnEarlierOneEnded) {
    put_deleted_vmi();
    keep_end("virt-launcher-web-old");

    EXPECT_EQ(tell(Question::Kind::vmi_why, "web").answer.cause, Cause::owner_delete);
}

TEST_F(CauseStoriesTest, APodThatItsVmLeftEndedForThatAndItsNodesStayHidden) {
    run_vm("n2");
    put_pod({{"phase", "Succeeded"}});

    const auto story = tell(Question::Kind::pod_why, pod, false);

    EXPECT_EQ(story.answer.cause, std::nullopt);
    EXPECT_TRUE(story.answer.ended);
    EXPECT_THAT(story.answer.evidence, Contains(HasSubstr("runs on node (a node)")));
    EXPECT_THAT(story.answer.evidence, Not(Contains(HasSubstr("n2"))));
}

TEST_F(CauseStoriesTest, AVmWhoseNodeIsGoneIsLostWithIt) {
    run_vm("n9");

    const auto story = tell(Question::Kind::vmi_why, "web");

    EXPECT_EQ(story.answer.cause, Cause::node_removed);
    EXPECT_FALSE(story.answer.certain);
}

}  // namespace
}  // namespace scout::aggregator
