// SPDX-License-Identifier: Apache-2.0
#include "pressure/pod_storage.h"

#include <stop_token>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace scout::pressure {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string uid = "0b6c1f2e-0000-4000-8000-00000000000a";
const fs::path volumes = fs::path{uid} / "volumes/kubernetes.io~empty-dir";

std::uint64_t bytes_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

class PodStorageTest : public testing::Test {
protected:
    [[nodiscard]] Result<PodStorage> read() {
        left = 100'000;
        return read_pod_storage(folder.path(), uid, left);
    }
    fs::path write(const fs::path& name, std::size_t size) const {
        return folder.write(volumes / name, std::string(size, 'x'));
    }
    [[nodiscard]] fs::path volume(const std::string& name) const {
        return folder.path() / volumes / name;
    }

    test::TemporaryFolder folder;
    std::size_t left = 0;
};

TEST_F(PodStorageTest, BlocksAndInodesOfAllItsEmptyDirsCount) {
    const auto disk = write("ephemeral-disks/disk-data/root/disk.qcow2", 63'000);
    const auto log = write("private/log", 10);
    // None of these is storage of its own: another kind of volume, another pod.
    folder.write(fs::path{uid} / "volumes/kubernetes.io~projected/token/token", "secret");
    folder.write("other/volumes/kubernetes.io~empty-dir/a/b", "text");

    const auto found = read();

    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->inodes, 6U) << "two files in four folders";
    const auto in_folders = bytes_of(volume("ephemeral-disks")) +
                            bytes_of(volume("ephemeral-disks/disk-data")) +
                            bytes_of(disk.parent_path()) + bytes_of(volume("private"));
    EXPECT_EQ(found->bytes, bytes_of(disk) + bytes_of(log) + in_folders);
    EXPECT_GE(found->bytes, 63'000U);
    EXPECT_EQ(left, 100'000U - 6U);
}

TEST_F(PodStorageTest, HolesTakeNothing) {
    const auto disk = write("a/disk.img", 1);
    fs::resize_file(disk, std::uintmax_t{1} << 40U);
    const auto found = read();
    ASSERT_TRUE(found);
    EXPECT_LT(found->bytes, std::uint64_t{1} << 30U);
}

TEST_F(PodStorageTest, LinksAreNotFollowedAndHardLinksCountOnce) {
    const test::TemporaryFolder outside;
    outside.write("big", std::string(1'000'000, 'x'));
    const auto file = write("a/file", 50'000);
    fs::create_hard_link(file, volume("a/again"));
    fs::create_directory_symlink(outside.path(), volume("a/out"));
    fs::create_directory_symlink("..", volume("a/up"));
    // A volume that is a link is none.
    fs::create_directory_symlink(outside.path(), volume("b"));

    const auto found = read();

    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->inodes, 1U + 1U + 3U) << "folder, file, links themselves";
    EXPECT_LT(found->bytes, 100'000U);
}

TEST_F(PodStorageTest, OddNamesAndKindsAreOnlyCounted) {
    write("a/..\n\xff", 1);
    write("a/-rf", 1);
    ASSERT_EQ(::mkfifo(volume("a/pipe").c_str(), 0600), 0);
    const auto found = read();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->inodes, 4U);
}

TEST_F(PodStorageTest, APodWithoutVolumesHasNothingAndOneThatIsGoneIsNotFound) {
    EXPECT_EQ(read().error().code, Errc::not_found);
    fs::create_directories(folder.path() / uid / "volumes");
    EXPECT_EQ(read().value(), PodStorage{});
    fs::create_directories(folder.path() / volumes);
    EXPECT_EQ(read().value(), PodStorage{});
}

TEST_F(PodStorageTest, WhatIsMoreThanIsCountedIsNotKnown) {
    for (std::size_t i = 0; i < most_pod_entries; ++i) {
        write("a/" + std::to_string(i), 0);
    }
    auto found = read();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::invalid);
    EXPECT_THAT(found.error().message, HasSubstr("more files"));
    EXPECT_EQ(left, 100'000U - most_pod_entries);

    fs::remove(volume("a/0"));
    EXPECT_EQ(read().value().inodes, most_pod_entries);

    // One bound for many pods.
    std::size_t few = 5;
    EXPECT_FALSE(read_pod_storage(folder.path(), uid, few));
    EXPECT_EQ(few, 0U);
}

TEST_F(PodStorageTest, DeepFoldersCostNoDescriptorsWithoutEnd) {
    fs::path deep{"a"};
    for (unsigned level = 1; level < most_pod_levels; ++level) {
        deep /= "d";
    }
    fs::create_directories(folder.path() / volumes / deep);
    EXPECT_EQ(read().value().inodes, most_pod_levels);
    fs::create_directories(folder.path() / volumes / deep / "d");
    EXPECT_THAT(read().error().message, HasSubstr("levels deep"));
}

TEST_F(PodStorageTest, NamesThatAreNoUidAreRefused) {
    for (const auto* name : {"", ".", "..", "a/b", "../etc", "a b"}) {
        left = 10;
        const auto found = read_pod_storage(folder.path(), name, left);
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.error().code, Errc::invalid);
    }
}

/// Folders turn into links and back, files come and go: nothing outside is counted, nothing fails.
TEST_F(PodStorageTest, WhatChangesMeanwhileIsCountedOrNot) {
    const test::TemporaryFolder outside;
    for (int i = 0; i < 50; ++i) {
        outside.write("many/" + std::to_string(i), "x");
    }
    write("a/stays", 1);
    fs::create_directories(volume("a/turns"));
    const std::jthread other([&](const std::stop_token& stop) {
        std::error_code ignored;
        while (!stop.stop_requested()) {
            fs::remove(volume("a/turns"), ignored);
            fs::create_directory_symlink(outside.path() / "many", volume("a/turns"), ignored);
            fs::remove(volume("a/turns"), ignored);
            fs::create_directory(volume("a/turns"), ignored);
        }
    });
    for (int i = 0; i < 2'000; ++i) {
        const auto found = read();
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_GE(found->inodes, 2U);
        EXPECT_LE(found->inodes, 3U);
    }
}

}  // namespace
}  // namespace scout::pressure
