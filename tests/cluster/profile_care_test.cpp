// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_care.h"

#include <gtest/gtest.h>

#include "kube/timestamps.h"

namespace scout::cluster {
namespace {

using std::chrono::hours;
using Kind = ProfileStep::Kind;

const WallTime now{hours{500'000}};

CpuProfile profile(const std::string& name, const std::string& unused_since = {}) {
    CpuProfile out;
    out.meta.name = name;
    out.meta.uid = "uid of " + name;
    out.meta.version = "7";
    out.unused_since = unused_since;
    return out;
}

std::string ago(WallTime::duration time) {
    return kube::micro_time(now - time);
}

std::vector<ProfileStep> steps_for(const CpuProfile& profile,
                                   const std::set<std::string, std::less<>>& named = {}) {
    return care_for({&profile}, named, now);
}

TEST(ProfileCareTest, AProfileThatIsNamedIsLeftAlone) {
    EXPECT_TRUE(steps_for(profile("a"), {"a"}).empty());
}

TEST(ProfileCareTest, OneThatNoNodeNamesIsMarkedWithTheTime) {
    const auto steps = steps_for(profile("a"), {"b"});

    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].kind, Kind::mark);
    EXPECT_EQ(steps[0].name, "a");
    EXPECT_EQ(steps[0].uid, "uid of a");
    EXPECT_EQ(kube::parse_time(steps[0].since), now);
}

TEST(ProfileCareTest, AMarkThatIsNoTimeOrOfTheFutureIsMadeAnew) {
    for (const auto& since : {std::string{"yesterday"}, ago(-hours{1})}) {
        const auto steps = steps_for(profile("a", since));
        ASSERT_EQ(steps.size(), 1U) << since;
        EXPECT_EQ(steps[0].kind, Kind::mark) << since;
    }
}

TEST(ProfileCareTest, AMarkedOneIsKeptForThirtyDaysAndThenRemoved) {
    EXPECT_TRUE(steps_for(profile("a", ago(hours{30 * 24 - 1}))).empty());

    const auto steps = steps_for(profile("a", ago(hours{30 * 24})));

    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].kind, Kind::remove);
    EXPECT_EQ(steps[0].uid, "uid of a");
    EXPECT_EQ(steps[0].version, "7");
}

TEST(ProfileCareTest, OneThatIsNamedAgainLosesItsMark) {
    const auto steps = steps_for(profile("a", ago(hours{90 * 24})), {"a"});

    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].kind, Kind::unmark);
    EXPECT_EQ(steps[0].since, "");
}

TEST(ProfileCareTest, OnlySoMuchIsDoneAtATime) {
    std::vector<CpuProfile> profiles;
    for (int i = 0; i < 50; ++i) {
        profiles.push_back(profile("p" + std::to_string(i)));
    }
    std::vector<const CpuProfile*> all;
    for (const auto& each : profiles) {
        all.push_back(&each);
    }

    EXPECT_EQ(care_for(all, {}, now).size(), ProfileCareRules{}.most_steps);
}

}  // namespace
}  // namespace scout::cluster
