// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "tests/support/temporary_folder.h"
#include "wire/endpoint.h"

namespace scout::wire {
namespace {

UniqueFd listen_at(const std::string& path) {
    UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
}

class UnixPathTest : public ::testing::Test {
protected:
    test::TemporaryFolder folder;
    std::string path = folder.path() / "a.sock";
};

TEST_F(UnixPathTest, FreePathIsFine) {
    EXPECT_TRUE(claim_unix_path(path));
}

TEST_F(UnixPathTest, StaleSocketIsReplaced) {
    listen_at(path).reset();
    ASSERT_TRUE(std::filesystem::exists(path));

    EXPECT_TRUE(claim_unix_path(path));

    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixPathTest, LivePeerIsRefusedAndLeftAlone) {
    const auto peer = listen_at(path);

    const auto claimed = claim_unix_path(path);

    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Errc::refused);
    EXPECT_NE(claimed.error().message.find("another process is listening"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(UnixPathTest, RegularFileIsRefusedAndLeftAlone) {
    folder.write("a.sock", "precious");

    const auto claimed = claim_unix_path(path);

    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Errc::refused);
    EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

TEST_F(UnixPathTest, LinkToASocketIsNotFollowed) {
    const std::string elsewhere = folder.path() / "b.sock";
    listen_at(elsewhere).reset();
    std::filesystem::create_symlink(elsewhere, path);

    EXPECT_FALSE(claim_unix_path(path));
    EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST_F(UnixPathTest, MissingFolderAndLongPathAreRefused) {
    const auto missing = claim_unix_path(folder.path() / "nowhere" / "a.sock");
    const auto over = claim_unix_path("/" + std::string(107, 'x'));

    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("folder must exist"), std::string::npos);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::wire
