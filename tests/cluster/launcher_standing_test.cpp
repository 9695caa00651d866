// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_standing.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/decode_text.h"

namespace scout::cluster {
namespace {

using migration::PodStanding;

std::optional<PodStanding> standing_of_spec(const std::string& spec) {
    auto text = R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":)" + spec + "}";
    const auto pod = kube::decode_text(text, &kube::decode_launcher_pod);
    EXPECT_TRUE(pod) << pod.error().message;
    return pod ? standing_of(*pod) : std::nullopt;
}

std::string requesting(const std::string& requests, const std::string& more = "") {
    return R"({"name":"c",)" + more + R"("resources":{"requests":)" + requests + "}}";
}

TEST(LauncherStandingTest, AllContainersAreAddedUp) {
    EXPECT_EQ(standing_of_spec(R"({"priority":1000,"containers":[)" +
                               requesting(R"({"memory":"2Gi","ephemeral-storage":"50M"})") + "," +
                               requesting(R"({"memory":"1k","cpu":"5"})") + "]}"),
              (PodStanding{.priority = 1000,
                           .memory_request = (std::uint64_t{2} << 30U) + 1000,
                           .storage_request = 50'000'000}));
}

TEST(LauncherStandingTest, AnInitContainerCountsWhileItRunsAndOneThatStaysAlways) {
    const auto stays = requesting(R"({"memory":"10"})", R"("restartPolicy":"Always",)");
    const auto ends = requesting(R"({"memory":"100"})");
    const auto spec = [&](const std::string& memory) {
        return R"({"initContainers":[)" + stays + "," + ends + R"(],"containers":[)" +
               requesting(R"({"memory":")" + memory + R"("})") + "]}";
    };
    EXPECT_EQ(standing_of_spec(spec("50"))->memory_request, 110U);
    EXPECT_EQ(standing_of_spec(spec("500"))->memory_request, 510U);
}

TEST(LauncherStandingTest, OverheadCountsBesideARequestOnly) {
    const auto standing =
        standing_of_spec(R"({"overhead":{"memory":"7","ephemeral-storage":"9"},"containers":[)" +
                         requesting(R"({"memory":"1"})") + "]}");
    EXPECT_EQ(standing, (PodStanding{.priority = 0, .memory_request = 8, .storage_request = 0}));
    EXPECT_EQ(standing_of_spec(R"({"overhead":{"memory":"7"}})"), PodStanding{});
    EXPECT_EQ(standing_of_spec("{}"), PodStanding{});
}

TEST(LauncherStandingTest, ABadQuantityMakesItUnknown) {
    for (const auto* bad : {"lots", "-5", "1.2.3", "Mi"}) {
        const auto requests = std::string{R"({"ephemeral-storage":")"} + bad + R"("})";
        EXPECT_FALSE(standing_of_spec(R"({"containers":[)" + requesting(requests) + "]}")) << bad;
        EXPECT_FALSE(standing_of_spec(R"({"initContainers":[)" + requesting(requests) + "]}"));
        EXPECT_FALSE(standing_of_spec(R"({"overhead":)" + requests + "}"));
    }
}

TEST(LauncherStandingTest, HugeQuantitiesDoNotWrapAround) {
    const auto huge = requesting(R"({"memory":"9e99"})");
    const auto standing = standing_of_spec(R"({"overhead":{"memory":"9e99"},"containers":[)" +
                                           huge + "," + huge + "]}");
    ASSERT_TRUE(standing);
    EXPECT_GE(standing->memory_request,
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

}  // namespace
}  // namespace scout::cluster
