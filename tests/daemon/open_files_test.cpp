// SPDX-License-Identifier: Apache-2.0
#include "daemon/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace scout::daemon {
namespace {

TEST(OpenFilesTest, SoftLimitBecomesTheHardOne) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    auto low = before;
    low.rlim_cur = before.rlim_max / 2;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

    raise_open_files_limit();

    rlimit now{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, before.rlim_max);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace scout::daemon
