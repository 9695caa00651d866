// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/embed_uri.h"

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/temporary_folder.h"

namespace scout::libvirt_glue {
namespace {

TEST(EmbedUriTest, TellsEmbeddedDriversFromOthers) {
    EXPECT_TRUE(is_embed_uri("qemu:///embed"));
    EXPECT_TRUE(is_embed_uri("qemu:///embed?root=/var/lib/x"));
    EXPECT_FALSE(is_embed_uri("qemu:///system"));
    EXPECT_FALSE(is_embed_uri("qemu:///embedded"));
    EXPECT_FALSE(is_embed_uri("test:///default"));
}

TEST(EmbedUriTest, PutsTheRootInAndReadsItBack) {
    const std::filesystem::path root = "/var/lib/virt scout/100%";

    const auto uri = with_embed_root("qemu:///embed", root);

    EXPECT_EQ(uri, "qemu:///embed?root=/var/lib/virt%20scout/100%25");
    EXPECT_EQ(embed_root(uri).value(), root);
    EXPECT_EQ(with_embed_root(uri, "/other"), uri);
    EXPECT_EQ(embed_root("qemu:///embed").value(), "");
    EXPECT_EQ(embed_root("qemu:///embed?mode=x&root=/srv/a").value(), "/srv/a");
}

TEST(EmbedUriTest, RefusesARootThatLibvirtCannotUse) {
    for (const std::string& root :
         {std::string("relative"), std::string("/a%2"), std::string("/a%zz"), std::string("/%00"),
          "/" + std::string(embed_root_limit, 'x')}) {
        const auto read = embed_root("qemu:///embed?root=" + root);
        ASSERT_FALSE(read) << root;
        EXPECT_EQ(read.error().code, Errc::invalid);
    }
    EXPECT_TRUE(embed_root("qemu:///embed?root=/" + std::string(embed_root_limit - 1, 'x')));
}

TEST(EmbedUriTest, KeepsSettingsThatAreThere) {
    const test::TemporaryFolder folder;
    folder.write("root/etc/qemu.conf", "user = \"qemu\"\n");

    ASSERT_TRUE(prepare_embed_root(folder.path() / "root"));
    EXPECT_EQ(read_file(folder.path() / "root/etc/qemu.conf").value(), "user = \"qemu\"\n");

    ASSERT_TRUE(prepare_embed_root(folder.path() / "fresh"));
    EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "fresh/etc"));
}

TEST(EmbedUriTest, SaysWhichFolderCannotBeMade) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("file", "");

    const auto prepared = prepare_embed_root(file);

    ASSERT_FALSE(prepared);
    EXPECT_NE(prepared.error().message.find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace scout::libvirt_glue
