// SPDX-License-Identifier: Apache-2.0
// LevelKeeper and LabelPlan together, against an API server that is slow, fails, and whose news
// come late; and with somebody else who writes the same label.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "cluster/label_plan.h"
#include "cluster/level_keeper.h"
#include "tests/cluster/node_objects.h"

namespace scout::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The cluster, and the process that writes labels; time goes in steps of 10 ms.
class Cluster {
public:
    explicit Cluster(unsigned seed) : random_(seed), plan_({}, seed, SteadyTime{}) {}

    /// One change by people or by the cluster itself.
    void disturb() {
        const auto name = "n" + std::to_string(pick(most_nodes));
        const auto found = nodes_.find(name);
        if (found == nodes_.end()) {
            auto labels = test::plain_labels(pick(2) == 0 ? "Large" : "Small");
            if (pick(4) == 0) {
                labels.erase("cpu-model-migration.node.kubevirt.io/Large");
            }
            nodes_.emplace(name, std::move(labels));
        } else if (pick(8) == 0) {
            nodes_.erase(found);
            foreign_.erase(name);
        } else if (pick(4) == 0) {
            found->second[std::string{level_label}] = std::to_string(pick(200));
            foreign_.insert(name);
        } else {
            found->second["kubevirt.io/schedulable"] = pick(3) == 0 ? "false" : "true";
        }
        news_.emplace(now_ + milliseconds{pick(500)}, name);
    }

    void pass(milliseconds time, bool working) {
        for (const auto end = now_ + time; now_ < end; now_ += milliseconds{10}) {
            hear();
            answer(working);
            for (const auto& change : keeper_.take_changes()) {
                const NodeMarks carried{
                    .level = change.label.carried, .profile = {}, .former_profile = {}};
                plan_.set({.name = change.name, .uid = change.name},
                          wanted_marks(carried, change.label.level, ""), carried, SteadyTime{now_});
            }
            begin();
        }
    }

    /// Every label is what a fleet of these nodes should have, judged all at once.
    void check() {
        Objects objects;
        for (const auto& [name, labels] : nodes_) {
            objects.nodes.push_back(test::node_object(name, labels));
        }
        for (const auto& node : judge_levels(objects, WallTime{now_}, {}).nodes) {
            const auto& labels = nodes_.at(node.name);
            const auto carried = labels.find(level_label);
            if (node.level) {
                ASSERT_NE(carried, labels.end()) << node.name;
                ASSERT_EQ(carried->second, std::to_string(*node.level)) << node.name;
            } else {
                ASSERT_EQ(carried, labels.end()) << node.name;
            }
        }
        ASSERT_EQ(plan_.next(), std::nullopt);
    }

    [[nodiscard]] int writes() const { return writes_; }

private:
    struct Call {
        milliseconds ends;
        LabelPlan::Write write;
    };
    static constexpr std::size_t most_nodes = 40;

    std::size_t pick(std::size_t below) { return random_() % below; }

    /// What the informer says now; of a node that changed since it says the newest.
    void hear() {
        for (; !news_.empty() && news_.begin()->first <= now_; news_.erase(news_.begin())) {
            const auto& name = news_.begin()->second;
            const auto found = nodes_.find(name);
            if (found == nodes_.end()) {
                keeper_.remove(name);
                plan_.forget(name);
            } else {
                keeper_.put(test::node_object(name, found->second), WallTime{now_});
            }
        }
    }

    void begin() {
        for (auto& write : plan_.take(SteadyTime{now_})) {
            ++writes_;
            ASSERT_TRUE(under_way_.insert(write.node).second) << write.node << " twice at a time";
            calls_.push_back({now_ + milliseconds{pick(300)}, std::move(write)});
        }
    }

    void answer(bool working) {
        for (auto call = calls_.begin(); call != calls_.end();) {
            if (call->ends > now_) {
                ++call;
                continue;
            }
            const auto& write = call->write;
            const bool accepted = working && pick(10) != 0;
            if (accepted && nodes_.contains(write.node)) {
                store(write);
                news_.emplace(now_ + milliseconds{pick(500)}, write.node);
            }
            under_way_.erase(write.node);
            plan_.done(write.node, accepted, SteadyTime{now_});
            call = calls_.erase(call);
        }
    }

    /// As an API server does it: an apply takes away only what its writer had applied.
    void store(const LabelPlan::Write& write) {
        auto& labels = nodes_.at(write.node);
        const auto key = std::string{level_label} + "\":\"";
        const auto at = write.body.find(key);
        if (at != std::string::npos) {
            const auto from = at + key.size();
            labels[std::string{level_label}] =
                write.body.substr(from, write.body.find('"', from) - from);
            foreign_.erase(write.node);
        } else if (write.merge || !foreign_.contains(write.node)) {
            labels.erase(std::string{level_label});
            foreign_.erase(write.node);
        }
    }

    std::mt19937 random_;
    milliseconds now_{0};
    std::map<std::string, migration::Labels> nodes_;  ///< as the API server has them
    std::set<std::string> foreign_;                   ///< whose label somebody else wrote last
    std::multimap<milliseconds, std::string> news_;
    std::vector<Call> calls_;
    std::set<std::string> under_way_;
    LevelKeeper keeper_{{}, {}};
    LabelPlan plan_;
    int writes_ = 0;
};

class LabelWritingTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(LabelWritingTest, EveryLabelIsRightInTheEndAndStaysUntouchedThen) {
    Cluster cluster(GetParam());
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 100; ++i) {
            cluster.disturb();
            ASSERT_NO_FATAL_FAILURE(cluster.pass(milliseconds{100}, i % 50 > 10));
        }
        ASSERT_NO_FATAL_FAILURE(cluster.pass(seconds{180}, true));
        ASSERT_NO_FATAL_FAILURE(cluster.check()) << "round " << round;
        const auto written = cluster.writes();
        ASSERT_NO_FATAL_FAILURE(cluster.pass(seconds{60}, true));
        EXPECT_EQ(cluster.writes(), written) << "nothing changed";
    }
    EXPECT_GT(cluster.writes(), 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LabelWritingTest, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace scout::cluster
