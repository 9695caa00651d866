// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/migration/evacuation_story.h"

namespace scout::migration {
namespace {

struct Least {
    const char* what;
    unsigned count;
    std::uint64_t one_in;  ///< of so many stories it is in
};

TEST(EvacuationModelTest, WhateverHappensNothingIsLostAndNothingHeldForEver) {
    constexpr std::uint64_t stories = 12'000;
    StoryCounts counts;
    for (std::uint64_t seed = 1; seed <= stories; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Story story(seed, counts);
        story.play();
        if (HasFailure()) {
            return;
        }
    }
    EXPECT_GT(counts.moved, stories / 20);
    EXPECT_LT(counts.moved, stories * 19 / 20);
    const Least least[] = {
        {"restarts", counts.restarts, 20},
        {"checked", counts.checked, 200},
        {"kept", counts.kept, 500},
        {"slow", counts.slow, 200},
        {"replaced", counts.replaced, 200},
        {"modes", counts.modes, 20},
        {"leaders", counts.leaders, 20},
        {"late", counts.late, 200},
        {"late marks", counts.late_marks, 4000},
        {"rivals", counts.rivals, 20},
        {"shortened", counts.shortened, 20},
        {"shutdowns", counts.shutdowns, 50},
        {"escalated", counts.escalated, 100},
        {"in vain", counts.in_vain, 500},
    };
    for (const auto& each : least) {
        EXPECT_GT(each.count, stories / each.one_in) << each.what;
    }
}

}  // namespace
}  // namespace scout::migration
