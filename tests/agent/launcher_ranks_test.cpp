// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::agent {
namespace {

using migration::PressureSignal;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto memory = PressureSignal::memory_available;
constexpr auto nodefs = PressureSignal::nodefs_available;

pressure::PodUsage using_memory(std::uint64_t bytes, std::uint64_t tasks = 10) {
    return {.qos = pressure::QosClass::burstable,
            .working_set = bytes,
            .memory = bytes,
            .limit = {},
            .swap = {},
            .tasks = tasks,
            .memory_stall = {},
            .io_stall = {}};
}

class LauncherRanksTest : public testing::Test {
protected:
    LauncherRanksTest() {
        for (const auto* uid : {"a", "b", "c"}) {
            ranks.pods.push_back({.pod_uid = uid, .guest = {}, .vm_grace = {}});
        }
        ranks.storages.emplace();
        ranks.own_imagefs = false;
    }
    [[nodiscard]] std::string order(PressureSignal signal) const {
        std::string uids;
        for (const auto& one : ranks.ranked(signal)) {
            uids += one.pod_uid;
        }
        return uids;
    }

    LauncherRanks ranks;
};

/// Case 16.
TEST_F(LauncherRanksTest, WhoExceedsItsStorageRequestIsFirst) {
    ranks.standings = {{"a", {.priority = 1000, .storage_request = 50'000'000}},
                       {"b", {.priority = 0, .storage_request = 50'000'000}},
                       {"c", {.priority = 0, .storage_request = 60'000'000}}};
    ranks.storages = {{"a", {.bytes = 45'000'000, .inodes = 9}},
                      {"b", {.bytes = 40'000'000, .inodes = 8}},
                      {"c", {.bytes = 55'000'000, .inodes = 7}}};
    EXPECT_EQ(order(nodefs), "cba") << "nobody is over its request: priority, then most of it";
    EXPECT_FALSE(ranks.ranked(nodefs)[2].usage > ranks.ranked(nodefs)[2].request);

    ranks.storages->at("a").bytes = 63'000'000;
    EXPECT_EQ(order(nodefs), "acb");
    EXPECT_EQ(order(PressureSignal::imagefs_available), "acb");
    EXPECT_EQ(ranks.ranked(nodefs)[0].request, 50'000'000U);
    EXPECT_EQ(ranks.ranked(nodefs)[0].priority, 1000);
}

TEST_F(LauncherRanksTest, ForMemoryTheRequestOfTheGuestCounts) {
    ranks.usages = {
        {"a", using_memory(8'000)}, {"b", using_memory(5'000)}, {"c", using_memory(3'000)}};
    EXPECT_EQ(order(memory), "abc") << "as if nothing were requested";
    EXPECT_FALSE(ranks.ranked(memory)[0].request);
    EXPECT_FALSE(ranks.ranked(memory)[0].priority);

    ranks.standings = {{"a", {.priority = 0, .memory_request = 8'500}},
                       {"b", {.priority = 7, .memory_request = 4'900}},
                       {"c", {.priority = 0, .memory_request = 3'100}}};
    EXPECT_EQ(order(memory), "bca");
}

TEST_F(LauncherRanksTest, ForProcessesThePriorityCountsAndNoRequest) {
    ranks.usages = {{"a", using_memory(1, 70)}, {"b", using_memory(1, 60)}};
    ranks.pods.pop_back();
    EXPECT_EQ(order(PressureSignal::pid_available), "ab");
    ranks.standings = {{"a", {.priority = 5}}, {"b", {.priority = 4}}};
    EXPECT_EQ(order(PressureSignal::pid_available), "ba");
    EXPECT_EQ(ranks.ranked(PressureSignal::pid_available)[0].request, 0U);
}

/// As the kubelet has it, see EvictionCandidate::request.
TEST_F(LauncherRanksTest, ForInodesTheStorageRequestIsTakenOff) {
    constexpr auto inodes = PressureSignal::nodefs_inodes_free;
    ranks.storages = {{"a", {.bytes = 0, .inodes = 30}},
                      {"b", {.bytes = 0, .inodes = 20}},
                      {"c", {.bytes = 0, .inodes = 10}}};
    EXPECT_EQ(order(inodes), "abc");
    ranks.standings = {{"a", {.storage_request = 3'000}},
                       {"b", {.storage_request = 2'000}},
                       {"c", {.storage_request = 1'000}}};
    EXPECT_EQ(order(inodes), "cba");
    EXPECT_EQ(ranks.ranked(inodes)[0].usage, 10U);
    EXPECT_EQ(ranks.ranked(inodes)[0].request, 0U) << "nobody requests inodes";
}

TEST_F(LauncherRanksTest, CriticalLaunchersStay) {
    ranks.standings = {{"a", {.priority = migration::critical_priority}}};
    EXPECT_EQ(order(memory), "bc");
}

TEST_F(LauncherRanksTest, WhereNothingIsKnownOfSingleOnesNoneIsNamed) {
    EXPECT_THAT(ranks.lines(), SizeIs(6));
    ranks.own_imagefs = true;
    EXPECT_EQ(order(PressureSignal::imagefs_available), "");
    EXPECT_EQ(order(nodefs), "abc");
    EXPECT_THAT(ranks.lines(), SizeIs(4));
    ranks.storages.reset();
    EXPECT_EQ(order(nodefs), "");
    EXPECT_EQ(order(PressureSignal::containerfs_available), "");
    EXPECT_THAT(ranks.lines(), SizeIs(2));
    ranks.pods.clear();
    EXPECT_THAT(ranks.lines(), IsEmpty());
}

TEST_F(LauncherRanksTest, LinesNameTheFirstAndCountTheOthers) {
    ranks.pods.resize(30);
    const auto lines = ranks.lines();
    EXPECT_THAT(lines.at(0).first, SizeIs(migration::told_launchers));
    EXPECT_EQ(lines.at(0).others, 30 - migration::told_launchers);
    for (const auto near : {memory, PressureSignal::allocatable_memory_available}) {
        const auto more = ranks.lines({near});
        EXPECT_THAT(more.at(0).first, SizeIs(30));
        EXPECT_EQ(more.at(0).others, 0U);
        EXPECT_EQ(more.at(1), lines.at(1)) << "process numbers are not near";
    }
}

}  // namespace
}  // namespace scout::agent
