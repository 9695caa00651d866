// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <string>
#include <vector>

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

TEST(EditDistanceTest, NearMeansAtMostTwoEdits) {
    const std::vector<std::string> known{"where", "why-not", "matrix"};
    EXPECT_EQ(nearest("whree", known), "where");
    EXPECT_EQ(nearest("whynot", known), "why-not");
    EXPECT_EQ(nearest("matirx", known), "matrix");
    EXPECT_EQ(nearest("nodes", known), "");
    EXPECT_EQ(nearest("", known), "");
    EXPECT_EQ(nearest("x", {"a", "ab"}), "") << "every letter is another";
    EXPECT_EQ(nearest(std::string(100, 'x'), known), "");
    EXPECT_EQ(nearest("where", {}), "");
}

}  // namespace
}  // namespace scout
