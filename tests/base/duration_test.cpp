// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <gtest/gtest.h>

namespace scout {
namespace {

using namespace std::chrono_literals;

TEST(DurationTest, IsReadWithItsUnitOnly) {
    EXPECT_EQ(parse_duration("1500ms").value(), 1500ms);
    EXPECT_EQ(parse_duration("2d").value(), 48h);
    for (const auto* wrong : {"", "5", "-5s", "s", "5 s", "5y", "99999999999999d", "1.5h"}) {
        EXPECT_FALSE(parse_duration(wrong)) << wrong;
    }
}

TEST(DurationTest, IsWrittenInItsLargestUnit) {
    EXPECT_EQ(format_duration(600s), "10m");
    EXPECT_EQ(format_duration(1500ms), "1500ms");
    EXPECT_EQ(format_duration(0s), "0s");
}

TEST(DurationTest, AgesAreToldInTheUnitThatAReaderNeeds) {
    EXPECT_EQ(age_text(0ms), "0 s");
    EXPECT_EQ(age_text(119'999ms), "119 s");
    EXPECT_EQ(age_text(2min), "2 min");
    EXPECT_EQ(age_text(2h), "2 h");
    EXPECT_EQ(age_text(49h), "2 d");
}

}  // namespace
}  // namespace scout
