// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(Base64Test, WritesAndReadsTheExamplesOfTheStandard) {
    const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : examples) {
        EXPECT_EQ(base64_encode(bytes), text);
        EXPECT_EQ(base64_decode(text).value(), bytes);
    }
    EXPECT_EQ(base64_decode("Zm9v\nYmFy\r\n").value(), "foobar");
    EXPECT_EQ(base64_decode("AAAA").value(), std::string(3, '\0'));
}

TEST(Base64Test, RefusesWhatIsNoBase64) {
    for (const std::string_view text :
         {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9-", "Zm 9v", " Zm9v", "=Zg="}) {
        const auto bytes = base64_decode(text);
        ASSERT_FALSE(bytes) << text;
        EXPECT_EQ(bytes.error().code, Errc::invalid);
    }
}

TEST(Base64Test, ReadsTheAlphabetOfUrls) {
    EXPECT_EQ(base64url_decode("").value(), "");
    EXPECT_EQ(base64url_decode("Zg").value(), "f");
    EXPECT_EQ(base64url_decode("Zm9v").value(), "foo");
    EXPECT_EQ(base64url_decode("-_-_").value(), base64_decode("+/+/").value());
}

TEST(Base64Test, BytesHaveOneSpellingInUrls) {
    for (const std::string_view text :
         {"Zg==", "Zg=", "Zh", "Zm9", "Z", "+/+/", "Zm9v\n", "Zm 9", "Zm9v.", "Zm8x\xff"}) {
        const auto bytes = base64url_decode(text);
        ASSERT_FALSE(bytes) << text;
        EXPECT_EQ(bytes.error().code, Errc::invalid);
    }
}

}  // namespace
}  // namespace scout
