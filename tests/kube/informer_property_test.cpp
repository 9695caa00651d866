// SPDX-License-Identifier: Apache-2.0
// After any sequence of faults the store equals the server, and the sum of what handlers were told
// equals the store.
#include <map>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "kube/informer.h"
#include "tests/kube/thing.h"
#include "tests/support/fake_cluster.h"
#include "tests/support/run_to_end.h"

namespace scout::test {
namespace {

/// What a handler believes to be there, by uid; every step must follow from the one before.
class Mirror {
public:
    void take(const kube::Informer<Thing>::Change& change) {
        if (!change.before) {
            EXPECT_TRUE(things_.emplace(change.now->meta.uid, change.now).second);
            return;
        }
        const auto known = things_.find(change.before->meta.uid);
        ASSERT_NE(known, things_.end());
        EXPECT_EQ(known->second, change.before);
        if (change.now) {
            EXPECT_EQ(change.now->meta.uid, change.before->meta.uid);
            known->second = change.now;
        } else {
            things_.erase(known);
        }
    }
    [[nodiscard]] const auto& things() const { return things_; }

private:
    std::map<std::string, kube::Informer<Thing>::Pointer> things_;
};

void expect_equal(const kube::Informer<Thing>& informer, const Mirror& mirror,
                  const FakeCluster& cluster) {
    EXPECT_TRUE(informer.synced());
    EXPECT_EQ(informer.size(), cluster.objects().size());
    EXPECT_EQ(mirror.things().size(), cluster.objects().size());
    for (const auto& [name, object] : cluster.objects()) {
        const auto thing = informer.find("s", name);
        ASSERT_NE(thing, nullptr) << name;
        EXPECT_EQ(thing->meta.uid, object.uid) << name;
        EXPECT_EQ(thing->meta.version, std::to_string(object.version)) << name;
        EXPECT_EQ(thing->text, std::to_string(object.text)) << name;
        const auto mirrored = mirror.things().find(object.uid);
        ASSERT_NE(mirrored, mirror.things().end()) << name;
        EXPECT_EQ(mirrored->second, thing) << name;
    }
}

class InformerPropertyTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(InformerPropertyTest, EqualsTheServerAfterAnyFaults) {
    asio::io_context loop;
    FakeClock clock;
    FakeCluster cluster({.seed = GetParam(), .steps = 4000, .streams_lists = GetParam() % 3 != 0},
                        clock);
    kube::ReflectorSettings settings;
    settings.backoff = {std::chrono::milliseconds{0}, std::chrono::milliseconds{0}};
    settings.slow_retry = std::chrono::milliseconds{0};
    settings.seed = GetParam();
    kube::Informer<Thing> informer(cluster, clock, {.resource = things(), .selection = {}},
                                   &decode_thing, settings);
    Mirror mirror;
    informer.on_change([&](const auto& change) { mirror.take(change); });

    run_to_end(loop, informer.run());

    expect_equal(informer, mirror, cluster);
    const auto& counters = informer.reflector().counters();
    EXPECT_GT(counters.errors, 10U);
    EXPECT_GT(counters.expired, 3U);
    EXPECT_GT(counters.lists, 10U);
    EXPECT_EQ(informer.store_counters().undecodable, 0U);
    RecordProperty("restores", static_cast<int>(cluster.restores()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, InformerPropertyTest, ::testing::Range<std::uint64_t>(1, 31));

}  // namespace
}  // namespace scout::test
