// SPDX-License-Identifier: Apache-2.0
#include "aggregator/shared_values.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scout::aggregator {
namespace {

TEST(SharedValuesTest, EqualKeysShareOneValue) {
    SharedValues<std::string> values;

    const auto first = values.share("k", "value");
    const auto second = values.share("k", "value");

    EXPECT_EQ(first, second);
    EXPECT_EQ(values.size(), 1U);
    EXPECT_EQ(values.find("k"), first);
}

TEST(SharedValuesTest, ValueGoesWithItsLastHolder) {
    SharedValues<std::string> values;
    auto held = values.share("k", "value");

    held.reset();

    EXPECT_EQ(values.find("k"), nullptr);
    EXPECT_EQ(values.size(), 0U);
    EXPECT_EQ(*values.share("k", "again"), "again");
}

TEST(SharedValuesTest, ThousandsOfPassingValuesLeaveOthersAlone) {
    SharedValues<std::string> values;
    const auto kept = values.share("kept", "kept");

    for (int i = 0; i < 10'000; ++i) {
        EXPECT_NE(values.share(std::to_string(i), "passing"), nullptr);
    }

    EXPECT_EQ(values.find("kept"), kept);
    EXPECT_EQ(values.size(), 1U);
}

}  // namespace
}  // namespace scout::aggregator
