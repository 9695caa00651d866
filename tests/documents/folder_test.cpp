// SPDX-License-Identifier: Apache-2.0
#include "documents/folder.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace scout::documents {
namespace {

TEST(FolderTest, EverythingButPlainFoldersIsADocument) {
    const test::TemporaryFolder folder;
    for (const char* name : {"b.xml", "a", "notes.txt", ".hidden.xml", "plain/host.xml",
                             "node-c/virsh_domcapabilities.xml", ".h/virsh_domcapabilities.xml"}) {
        folder.write(name, "");
    }
    ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
    std::filesystem::create_symlink("nowhere", folder.path() / "lost");
    std::filesystem::create_symlink("round", folder.path() / "round");
    std::filesystem::create_directory(folder.path() / "node-d");
    std::filesystem::create_symlink("nowhere",
                                    folder.path() / "node-d" / "virsh_domcapabilities.xml");

    std::vector<std::string> names;
    const auto paths = list_documents(folder.path()).value();
    for (const auto& path : paths) {
        names.push_back(path.filename().string());
    }

    EXPECT_THAT(names, testing::ElementsAre("a", "b.xml", "fifo", "lost", "node-c", "node-d",
                                            "notes.txt", "round"));
    EXPECT_TRUE(is_labeller_folder(folder.path() / "node-c"));
    EXPECT_FALSE(is_labeller_folder(folder.path() / "plain"));
}

TEST(FolderTest, WhatIsNoFolderIsToldByKind) {
    const test::TemporaryFolder folder;

    EXPECT_EQ(list_documents(folder.path() / "absent").error().code, Errc::not_found);
    EXPECT_EQ(list_documents(folder.write("file", "")).error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::documents
