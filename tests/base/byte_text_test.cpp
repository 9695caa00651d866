// SPDX-License-Identifier: Apache-2.0
#include "base/byte_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace scout {
namespace {

TEST(ByteTextTest, TheLargestUnitThatLeavesAtLeastOne) {
    EXPECT_EQ(byte_text(0), "0 B");
    EXPECT_EQ(byte_text(1023), "1023 B");
    EXPECT_EQ(byte_text(1536), "1.5 KiB");
    EXPECT_EQ(byte_text(std::uint64_t{8} << 30U), "8.0 GiB");
    EXPECT_EQ(byte_text(std::numeric_limits<std::uint64_t>::max()), "16777216.0 TiB");
}

}  // namespace
}  // namespace scout
