// SPDX-License-Identifier: Apache-2.0
// What a dump would hold, read from a real API server.
#include <algorithm>
#include <chrono>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/live.h"
#include "cluster/records.h"
#include "tests/kube/bed_fixture.h"

namespace scout::cluster {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsSupersetOf;
using namespace std::chrono_literals;

class BedLiveTest : public test::BedTest {
protected:
    [[nodiscard]] kube::ClusterAccess somebody(const std::string& space) {
        return test::with_token(access, token_of(space, "default", {}));
    }
    [[nodiscard]] Result<Dump> read(const kube::ClusterAccess& who) const {
        return read_cluster(who, clock, 30s);
    }
    [[nodiscard]] static auto left_out(const std::string& place, const std::string& reason) {
        return Contains(
            AllOf(Field(&LeftOut::place, place), Field(&LeftOut::reason, HasSubstr(reason))));
    }
};

TEST_F(BedLiveTest, ReadsTheNodesInTheirOrderAndTellsWhatIsNotThere) {
    create_node("live-b", {{"kubernetes.io/arch", "amd64"}});
    create_node("live-a", {{"kubernetes.io/arch", "arm64"}});

    const auto dump = read(access);

    ASSERT_TRUE(dump) << dump.error().message;
    std::vector<std::string> names;
    for (const auto& node : dump->objects.nodes) {
        names.push_back(node.meta.name);
    }
    EXPECT_THAT(names, IsSupersetOf({"live-a", "live-b"}));
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    EXPECT_THAT(dump->left_out, left_out("kubevirts.kubevirt.io", "no such kind"));
    EXPECT_LT(clock.wall() - dump->moment, 1min);
}

TEST_F(BedLiveTest, WhatMayNotBeListedIsLeftOutByName) {
    const auto space = new_space();
    grant(space, "default", "", "nodes", {"list", "watch"});
    create_node("live-rights", {{"kubernetes.io/arch", "amd64"}});

    const auto dump = read(somebody(space));

    ASSERT_TRUE(dump) << dump.error().message;
    EXPECT_FALSE(dump->objects.nodes.empty());
    EXPECT_THAT(dump->left_out, left_out("pods", "forbidden"));
}

TEST_F(BedLiveTest, WithoutTheRightToListNodesNothingCanBeSaid) {
    const auto dump = read(somebody(new_space()));

    ASSERT_FALSE(dump);
    EXPECT_EQ(dump.error().code, Errc::refused);
    EXPECT_THAT(dump.error().message, HasSubstr("nodes"));
}

TEST_F(BedLiveTest, RecordsHaveThePodsOfKubeVirtAloneAndTheEvents) {
    const auto space = new_space();
    create_node("live-records", {{"kubevirt.io/schedulable", "true"}});
    const auto pod = [this, &space](const std::string& name, const boost::json::object& labels) {
        create(kube::resources::pods(), space,
               {{"metadata", {{"name", name}, {"labels", labels}}},
                {"spec",
                 {{"nodeName", "live-records"},
                  {"containers", boost::json::array{{{"name", "c"}, {"image", "i"}}}}}}});
    };
    pod("virt-launcher-a-abcde",
        {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", "u"}});
    pod("virt-handler-a", {{"kubevirt.io", "virt-handler"}});
    pod("other", {});
    create(
        kube::resources::events(), space,
        {{"metadata", {{"name", "e"}}},
         {"regarding", {{"kind", "Pod"}, {"namespace", space}, {"name", "virt-launcher-a-abcde"}}},
         {"eventTime", "2026-03-02T09:00:00.000000Z"},
         {"reason", "Evicted"},
         {"note", "The node was low on resource: memory. "},
         {"action", "Evicting"},
         {"type", "Warning"},
         {"reportingController", "kubelet"},
         {"reportingInstance", "live-records"}});

    const auto dump = read_live_records(access, clock, 30s);

    ASSERT_TRUE(dump) << dump.error().message;
    const auto in_space = [&space](const auto& object) { return object.meta.space == space; };
    const auto& records = dump->records;
    EXPECT_EQ(std::count_if(records.launchers.begin(), records.launchers.end(), in_space), 1);
    EXPECT_EQ(std::count_if(records.handlers.begin(), records.handlers.end(), in_space), 1);
    EXPECT_THAT(records.events, Contains(AllOf(Field(&kube::SeenEvent::reason, "Evicted"),
                                               Field(&kube::SeenEvent::space, space),
                                               Field(&kube::SeenEvent::message,
                                                     "The node was low on resource: memory. "))));
    EXPECT_THAT(dump->left_out, left_out("kubevirts.kubevirt.io", "no such kind"));
}

TEST_F(BedLiveTest, AServerThatIsNotThereIsTold) {
    // The discard port of this machine.
    const auto dump = read_cluster(test::by_way_of(access, 9), clock, 2s);

    ASSERT_FALSE(dump);
    EXPECT_EQ(dump.error().code, Errc::unavailable);
    EXPECT_THAT(dump.error().message, HasSubstr("nodes"));
}

}  // namespace
}  // namespace scout::cluster
