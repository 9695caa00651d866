// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace scout::daemon {
namespace {

using testing::HasSubstr;

class StateFolderTest : public testing::Test {
protected:
    test::TemporaryFolder folder;
};

TEST_F(StateFolderTest, FolderThatIsThereOrCanBeMadeIsFine) {
    const auto below = folder.path() / "a" / "b";

    EXPECT_EQ(state_folder_fault(folder.path()), "");
    EXPECT_EQ(state_folder_fault(below), "");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
    EXPECT_TRUE(make_state_folder(below));
    EXPECT_TRUE(make_state_folder(below));
    EXPECT_TRUE(std::filesystem::is_empty(below));
}

TEST_F(StateFolderTest, FileAndRelativePathAreTold) {
    const auto file = folder.write("file", "precious");

    for (const auto& path : {file, file / "below"}) {
        EXPECT_THAT(state_folder_fault(path), HasSubstr("which is no folder: choose another"));
        const auto made = make_state_folder(path);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, Errc::invalid);
        EXPECT_THAT(made.error().message,
                    HasSubstr("expected a folder that this process may write"));
    }
    EXPECT_THAT(state_folder_fault("state"), HasSubstr("expected an absolute path"));
    EXPECT_FALSE(make_state_folder("/proc/virt-scout"));
    EXPECT_EQ(std::filesystem::file_size(file), 8U);
}

TEST_F(StateFolderTest, RightsAreTriedAtTheStartOnly) {
    if (::geteuid() == 0) {
        GTEST_SKIP() << "root may write everywhere";
    }
    for (const auto rights : {std::filesystem::perms::owner_exec, std::filesystem::perms::none}) {
        std::filesystem::permissions(folder.path(), rights);

        EXPECT_EQ(state_folder_fault(folder.path() / "below"), "");
        const auto made = make_state_folder(folder.path() / "below");
        ASSERT_FALSE(made);
        EXPECT_THAT(made.error().message, HasSubstr("Permission denied"));
    }
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace scout::daemon
