// SPDX-License-Identifier: Apache-2.0
#include "migration/label_syntax.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scout::migration {
namespace {

TEST(LabelSyntaxTest, ValuesAreThoseOfTheApiServer) {
    const std::string longest(63, 'a');
    for (const auto& good : std::vector<std::string>{"", "a", "A-b_c.9", "9", longest}) {
        EXPECT_TRUE(is_label_value(good)) << good;
    }
    for (const auto& bad :
         std::vector<std::string>{"-a", "a-", ".", "a b", "a/b", "ä", (longest + "a")}) {
        EXPECT_FALSE(is_label_value(bad)) << bad;
    }
}

TEST(LabelSyntaxTest, KeysMayHaveADnsNameInFront) {
    const std::string prefix(253, 'a');
    for (const auto& good :
         std::vector<std::string>{"a", "kubevirt.io/nodeName", "a-b.c/D_e", (prefix + "/x")}) {
        EXPECT_TRUE(is_label_key(good)) << good;
    }
    for (const auto& bad : std::vector<std::string>{"", "/", "a/", "/a", "A.io/a", "a..b/c",
                                                    "a/b/c", "-a/b", "a b", (prefix + "a/x")}) {
        EXPECT_FALSE(is_label_key(bad)) << bad;
    }
}

}  // namespace
}  // namespace scout::migration
