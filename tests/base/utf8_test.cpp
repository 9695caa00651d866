// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(Utf8Test, ReadsTheFirstCharacter) {
    EXPECT_EQ(first_character("ab").length, 1U);
    EXPECT_EQ(first_character("ü!").point, U'ü');
    EXPECT_EQ(first_character("…").point, U'…');
    EXPECT_EQ(first_character("\xf0\x9f\x90\xa7").point, U'\U0001f427');
    EXPECT_EQ(first_character("\xf4\x8f\xbf\xbf").point, U'\U0010ffff');
}

TEST(Utf8Test, TakesNothingThatIsNotWellFormed) {
    for (const std::string_view text :
         {"", "\xc3", "\xc3(", "\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80",
          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
        EXPECT_EQ(first_character(text).length, 0U) << testing::PrintToString(text);
    }
}

TEST(Utf8Test, ReplacesEachStrayByteAndNothingElse) {
    const auto mark = [](std::string& out, char stray) {
        out += stray == '\xff' ? "<ff>" : "<other>";
    };

    EXPECT_EQ(replace_strays("", mark), "");
    EXPECT_EQ(replace_strays("r\u00fcck", mark), "r\u00fcck");
    EXPECT_EQ(replace_strays("a\xff\xff\u20ac\xc3", mark), "a<ff><ff>\u20ac<other>");
}

TEST(Utf8Test, CutsBetweenCharacters) {
    EXPECT_EQ(head_of("grün", 9), "grün");
    EXPECT_EQ(head_of("grün", 3), "gr");
    EXPECT_EQ(head_of("grün", 4), "grü");
    EXPECT_EQ(head_of("\x80\x80\x80", 2), "");
}

}  // namespace
}  // namespace scout
