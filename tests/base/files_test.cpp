// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace scout {
namespace {

TEST(FilesTest, ReadsWhatWasWrittenAtomically) {
    const test::TemporaryFolder folder;
    const auto file = folder.path() / "state";

    ASSERT_TRUE(write_file_atomically(file, "first"));
    ASSERT_TRUE(write_file_atomically(file, "second"));

    EXPECT_EQ(read_file(file).value(), "second");
    EXPECT_EQ(list_files(folder.path()).value().size(), 1U);
}

TEST(FilesTest, SweepsWhatKilledWritersLeftAndNothingElse) {
    const test::TemporaryFolder folder;
    const auto file = folder.path() / "state";
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours{1};
    for (const char* name : {"state.new-a1B2c3", "state.new-precious", "other.new-a1B2c3"}) {
        std::filesystem::last_write_time(folder.write(name, "left"), old);
    }
    folder.write("state.new-young1", "being written");

    ASSERT_TRUE(write_file_atomically(file, "text"));

    EXPECT_FALSE(std::filesystem::exists(folder.path() / "state.new-a1B2c3"));
    for (const char* name :
         {"state", "state.new-precious", "other.new-a1B2c3", "state.new-young1"}) {
        EXPECT_TRUE(std::filesystem::exists(folder.path() / name)) << name;
    }
}

TEST(FilesTest, RefusesAFifoWithoutBlocking) {
    const test::TemporaryFolder folder;
    const auto fifo = folder.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

    const auto text = read_file(fifo);

    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Errc::invalid);
}

TEST(FilesTest, RefusesAFileOverTheLimitAndNamesIt) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("big", std::string(1025, 'x'));

    const auto text = read_file(file, 1024);

    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Errc::invalid);
    EXPECT_NE(text.error().message.find("big"), std::string::npos);
}

TEST(FilesTest, RefusesAFolderOfMoreFilesThanTheLimit) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("0", "");
    for (std::size_t i = 1; i < folder_limit; ++i) {
        std::filesystem::create_hard_link(file, folder.path() / std::to_string(i));
    }
    folder.write(".hidden", "");
    ASSERT_EQ(list_files(folder.path()).value().size(), folder_limit);

    folder.write("one more", "");
    const auto over = list_files(folder.path());

    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, Errc::invalid);
    EXPECT_NE(over.error().message.find("at most 10000 files"), std::string::npos);
}

TEST(FilesTest, SaysNotFoundForAMissingFile) {
    const test::TemporaryFolder folder;

    EXPECT_EQ(read_file(folder.path() / "absent").error().code, Errc::not_found);
    EXPECT_EQ(list_files(folder.path() / "absent").error().code, Errc::not_found);
}

}  // namespace
}  // namespace scout
