// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace scout {
namespace {

TEST(FileLockTest, SecondHolderIsRefusedAndToldTheFirst) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "a.lock";
    std::optional<FileLock> first{FileLock::take(path).value()};

    const auto second = FileLock::take(path);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::refused);
    EXPECT_EQ(second.error().message,
              path.string() + " is held by process " + std::to_string(::getpid()));
    first.reset();
    EXPECT_TRUE(FileLock::take(path));
}

TEST(FileLockTest, FolderThatIsMissingIsAnErrorOfItsOwn) {
    const test::TemporaryFolder folder;

    const auto lock = FileLock::take(folder.path() / "missing" / "a.lock");

    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, Errc::unavailable);
}

}  // namespace
}  // namespace scout
