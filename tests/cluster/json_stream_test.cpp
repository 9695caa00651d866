// SPDX-License-Identifier: Apache-2.0
#include "cluster/json_stream.h"

#include <gmock/gmock.h>

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> values_of(std::string_view text) {
    return json_stream(text).value();
}

TEST(JsonStreamTest, ValuesMayStandOneBehindTheOther) {
    EXPECT_THAT(values_of(" {\"a\":[1,{}]}\n[2]{}\n"), ElementsAre("{\"a\":[1,{}]}", "[2]", "{}"));
    EXPECT_THAT(values_of("{}\n---\n{}\n---\n"), ElementsAre("{}", "{}"));
    EXPECT_THAT(values_of(" \n"), IsEmpty());
}

TEST(JsonStreamTest, BracketsAndQuotesInTextsAreText) {
    EXPECT_THAT(values_of(R"({"a":"}\"]\\"}{"b":1})"),
                ElementsAre(R"({"a":"}\"]\\"})", R"({"b":1})"));
}

TEST(JsonStreamTest, WhatDoesNotEndIsTheRest) {
    EXPECT_THAT(values_of("{} {\"a\":"), ElementsAre("{}", "{\"a\":"));
    EXPECT_THAT(values_of("{} \"a"), ElementsAre("{}", "\"a"));
    EXPECT_THAT(values_of("{} tail {}"), ElementsAre("{}", "tail {}"));
    EXPECT_THAT(values_of("}{}"), ElementsAre("}", "{}"));
}

TEST(JsonStreamTest, MoreValuesThanAnybodyHasObjectsAreNotCounted) {
    std::string text;
    for (int i = 0; i <= 1'000'000; ++i) {
        text += "{}";
    }
    const auto many = json_stream(text);
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().code, Errc::invalid);
    EXPECT_EQ(json_stream(text.substr(2)).value().size(), 1'000'000U);
}

}  // namespace
}  // namespace scout::cluster
