// SPDX-License-Identifier: Apache-2.0
#include "base/percent.h"

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(PercentTest, EncodesEverythingThatIsNotPlain) {
    EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
    EXPECT_EQ(percent_encode("a b/+%&=\n\xc3\xa4"), "a%20b%2F%2B%25%26%3D%0A%C3%A4");
}

TEST(PercentTest, DecodesWhatWasEncodedAndLeavesTheRest) {
    EXPECT_EQ(percent_decode("a%20b%2F%2b%C3%A4"), "a b/+\xc3\xa4");
    EXPECT_EQ(percent_decode("%%41%4%zz%-1%"), "%A%4%zz%-1%");
}

TEST(PercentTest, WhatIsPlainBesidesStays) {
    EXPECT_EQ(percent_encode("/a b/c?", "/"), "/a%20b/c%3F");
}

}  // namespace
}  // namespace scout
