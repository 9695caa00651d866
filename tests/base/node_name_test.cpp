// SPDX-License-Identifier: Apache-2.0
#include "base/node_name.h"

#include <string>

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(NodeNameTest, TakesNamesOfNodesAndOfDocuments) {
    for (const std::string name : {"n1", "node-1.example.org", "EPYC_7601+smt", "9"}) {
        EXPECT_TRUE(is_node_name(name)) << name;
    }
    EXPECT_TRUE(is_node_name(std::string(node_name_limit, 'n')));
}

TEST(NodeNameTest, RefusesWhatCouldBeTakenForSomethingElse) {
    for (const std::string name : {"", "a b", "a/b", "a@b", ".hidden", "-flag", "a\x1b[2J", "é"}) {
        EXPECT_FALSE(is_node_name(name)) << name;
    }
    EXPECT_FALSE(is_node_name(std::string(node_name_limit + 1, 'n')));
}

}  // namespace
}  // namespace scout
