// SPDX-License-Identifier: Apache-2.0
#include "base/go_duration.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout {
namespace {

using namespace std::chrono_literals;

TEST(GoDurationTest, IsASumOfNumbersWithUnits) {
    EXPECT_EQ(parse_go_duration("0"), 0ms);
    EXPECT_EQ(parse_go_duration("5s"), 5s);
    EXPECT_EQ(parse_go_duration("1m30s"), 90s);
    EXPECT_EQ(parse_go_duration("1.5h"), 90min);
    EXPECT_EQ(parse_go_duration("1h0m0.25s"), 1h + 250ms);
    EXPECT_EQ(parse_go_duration("300ms"), 300ms);
    EXPECT_EQ(parse_go_duration("1500us"), 1ms);
    EXPECT_EQ(parse_go_duration("2000µs999ns"), 2ms);
    EXPECT_EQ(parse_go_duration("0s"), 0ms);
}

TEST(GoDurationTest, AnythingElseIsRefusedWithWhatIsRight) {
    for (const std::string text : {"", "5", "s", "-5s", "5 s", "1d", "1m30", "1..5s", "m1", "1e3s",
                                   "nan", "inf", "99999999h", "0x1s", "5s,"}) {
        const auto made = parse_go_duration(text);
        ASSERT_FALSE(made) << text;
        EXPECT_THAT(made.error().message, testing::HasSubstr("1m30s"));
    }
    EXPECT_FALSE(parse_go_duration(std::string(400, '9') + "h"));
    EXPECT_LT(parse_go_duration(std::string(100'000, 'x')).error().message.size(), 1000U);
}

}  // namespace
}  // namespace scout
