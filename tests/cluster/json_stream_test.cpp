// SPDX-License-Identifier: Apache-2.0
#include "cluster/json_stream.h"

#include <gmock/gmock.h>

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonStreamTest, ValuesMayStandOneBehindTheOther) {
    EXPECT_THAT(json_stream(" {\"a\":[1,{}]}\n[2]{}\n"),
                ElementsAre("{\"a\":[1,{}]}", "[2]", "{}"));
    EXPECT_THAT(json_stream("{}\n---\n{}\n---\n"), ElementsAre("{}", "{}"));
    EXPECT_THAT(json_stream(" \n"), IsEmpty());
}

TEST(JsonStreamTest, BracketsAndQuotesInTextsAreText) {
    EXPECT_THAT(json_stream(R"({"a":"}\"]\\"}{"b":1})"),
                ElementsAre(R"({"a":"}\"]\\"})", R"({"b":1})"));
}

TEST(JsonStreamTest, WhatDoesNotEndIsTheRest) {
    EXPECT_THAT(json_stream("{} {\"a\":"), ElementsAre("{}", "{\"a\":"));
    EXPECT_THAT(json_stream("{} \"a"), ElementsAre("{}", "\"a"));
    EXPECT_THAT(json_stream("{} tail {}"), ElementsAre("{}", "tail {}"));
    EXPECT_THAT(json_stream("}{}"), ElementsAre("}", "{}"));
}

}  // namespace
}  // namespace scout::cluster
