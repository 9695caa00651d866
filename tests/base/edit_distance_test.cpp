// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(EditDistanceTest, CountsTheFewestEdits) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("compare", "compare"), 0U);
    EXPECT_EQ(edit_distance("comapre", "compare"), 2U);
    EXPECT_EQ(edit_distance("agregator", "aggregator"), 1U);
    EXPECT_EQ(edit_distance("nodes", "where"), 5U);
}

}  // namespace
}  // namespace scout
