// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/logging.h"
#include "base/result.h"

namespace scout {
namespace {

TEST(ClockTest, WritesWallTimeAsRfc3339InUtc) {
    EXPECT_EQ(rfc3339(WallTime{std::chrono::milliseconds{1'795'820'799'999}}),
              "2026-11-27T23:06:39Z");
}

TEST(DigestTest, IsSha256InHex) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(LogValueTest, KeepsOneRecordOnOneLine) {
    EXPECT_EQ(log_value("plain"), "plain");
    EXPECT_EQ(log_value("two words"), "\"two words\"");
    EXPECT_EQ(log_value("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
    EXPECT_EQ(log_value("\u009b2J\u202e"), "\\xc2\\x9b2J\\xe2\\x80\\xae");
    EXPECT_EQ(log_value("say \"no\""), "\"say \\\"no\\\"\"");
    EXPECT_EQ(log_value(""), "\"\"");
    EXPECT_EQ(log_value("r\u00fcck"), "r\u00fcck");
    EXPECT_EQ(log_value("\xff\xfe.xml"), "\\xff\\xfe.xml") << "not UTF-8: no log could be parsed";
    EXPECT_LT(log_value(std::string(100'000, 'x')).size(), 600U);
}

TEST(LoggingTest, WritesOneJsonObjectForARecord) {
    const auto logger = spdlog::default_logger();
    ASSERT_TRUE(set_up_logging({.level = "info", .format = "json"}, true));
    testing::internal::CaptureStderr();
    spdlog::warn("left out file=\"{}\"", "\xff");
    const auto line = boost::json::parse(testing::internal::GetCapturedStderr());
    spdlog::set_default_logger(logger);

    EXPECT_EQ(line.at("level"), "warning");
    EXPECT_EQ(line.at("msg"), R"(left out file="\xff")");
}

TEST(LoggingTest, RefusesLevelsAndFormatsThatDoNotExist) {
    EXPECT_FALSE(set_up_logging({.level = "loud"}, true));
    EXPECT_FALSE(set_up_logging({.level = "info", .format = "xml"}, true));
    EXPECT_TRUE(set_up_logging({.level = "warn", .format = "json"}, true));
    EXPECT_TRUE(set_up_logging({.level = "warning"}, true));
}

TEST(ErrorTest, PutsTheStepInFront) {
    EXPECT_EQ((Error{.code = Errc::invalid, .message = "no"}.within("inner")).message, "inner: no");
    EXPECT_EQ(to_string(Errc::timed_out), "timed out");
}

}  // namespace
}  // namespace scout
