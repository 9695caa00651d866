// SPDX-License-Identifier: Apache-2.0
#include "wire/unix_socket.h"

#include <array>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "tests/support/temporary_folder.h"

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

bool reachable(const std::string& path) {
    const UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
           0;
}

class UnixSocketPlaceTest : public ::testing::Test {
protected:
    test::TemporaryFolder folder;
    std::string path = folder.path() / "a.sock";
};

TEST_F(UnixSocketPlaceTest, FreePathIsFine) {
    auto place = UnixSocketPlace::claim(path).value();
    const auto socket = listen_at(place.private_name());

    EXPECT_TRUE(place.publish());

    EXPECT_TRUE(reachable(path));
    EXPECT_FALSE(std::filesystem::exists(place.private_name()));
    place.give_back();
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixSocketPlaceTest, StaleSocketIsReplaced) {
    listen_at(path).reset();
    ASSERT_TRUE(std::filesystem::exists(path));

    auto place = UnixSocketPlace::claim(path).value();
    const auto socket = listen_at(place.private_name());

    EXPECT_TRUE(place.publish());
    EXPECT_TRUE(reachable(path));
}

TEST_F(UnixSocketPlaceTest, SuccessorsSocketIsLeftAlone) {
    auto first = UnixSocketPlace::claim(path).value();
    const auto old_socket = listen_at(first.private_name());
    ASSERT_TRUE(first.publish());
    std::filesystem::remove(path);
    auto second = UnixSocketPlace::claim(path).value();
    const auto new_socket = listen_at(second.private_name());
    ASSERT_TRUE(second.publish());

    first.give_back();

    EXPECT_TRUE(reachable(path));
}

/// Two that start at the same time: one of them serves, and the other one is told.
TEST_F(UnixSocketPlaceTest, WhoWasQuickerIsLeftAlone) {
    for (int round = 0; round < 200; ++round) {
        if (round % 2 == 1) {
            listen_at(path).reset();  // stale
        }
        std::array places{UnixSocketPlace::claim(path).value(),
                          UnixSocketPlace::claim(path).value()};
        std::array sockets{listen_at(places[0].private_name()),
                           listen_at(places[1].private_name())};
        std::array<Status, 2> published;
        std::barrier both(2);
        const auto start = [&](std::size_t i) {
            both.arrive_and_wait();
            published[i] = places[i].publish();
        };
        std::thread other(start, 1);
        start(0);
        other.join();

        ASSERT_NE(published[0].has_value(), published[1].has_value()) << "round " << round;
        const std::size_t loser = published[0] ? 1 : 0;
        EXPECT_EQ(published[loser].error().code, Errc::refused);
        sockets[loser].reset();
        places[loser].give_back();
        EXPECT_TRUE(reachable(path)) << "round " << round;
        places[1 - loser].give_back();
        EXPECT_FALSE(std::filesystem::exists(path));
    }
}

TEST_F(UnixSocketPlaceTest, FileThatCameMeanwhileIsLeftAlone) {
    auto place = UnixSocketPlace::claim(path).value();
    const auto socket = listen_at(place.private_name());
    folder.write("a.sock", "precious");

    EXPECT_EQ(place.publish().error().code, Errc::refused);
    EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

TEST_F(UnixSocketPlaceTest, NothingIsLeftOfAStartThatFailed) {
    {
        auto place = UnixSocketPlace::claim(path).value();
        const auto socket = listen_at(place.private_name());
        const auto moved = std::move(place);
        ASSERT_TRUE(std::filesystem::exists(moved.private_name()));
    }

    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(UnixSocketPlaceTest, SocketThatIsNotThereIsTold) {
    auto place = UnixSocketPlace::claim(path).value();

    EXPECT_EQ(place.publish().error().code, Errc::unavailable);
}

TEST_F(UnixSocketPlaceTest, LivePeerIsRefusedAndLeftAlone) {
    const auto peer = listen_at(path);

    const auto claimed = UnixSocketPlace::claim(path);

    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Errc::refused);
    EXPECT_NE(claimed.error().message.find("another process is listening"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(UnixSocketPlaceTest, RegularFileIsRefusedAndLeftAlone) {
    folder.write("a.sock", "precious");

    const auto claimed = UnixSocketPlace::claim(path);

    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Errc::refused);
    EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

TEST_F(UnixSocketPlaceTest, LinkToASocketIsNotFollowed) {
    const std::string elsewhere = folder.path() / "b.sock";
    listen_at(elsewhere).reset();
    std::filesystem::create_symlink(elsewhere, path);

    EXPECT_FALSE(UnixSocketPlace::claim(path));
    EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST_F(UnixSocketPlaceTest, MissingFolderAndLongPathAreRefused) {
    const auto missing = UnixSocketPlace::claim(folder.path() / "nowhere" / "a.sock");
    const auto over = UnixSocketPlace::claim("/" + std::string(107, 'x'));

    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("folder must exist"), std::string::npos);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, Errc::invalid);
    const auto tight = UnixSocketPlace::claim("/" + std::string(104, 'x') + "/a");
    ASSERT_FALSE(tight);
    EXPECT_NE(tight.error().message.find("its folder is 8 bytes too long"), std::string::npos)
        << tight.error().message;
}

}  // namespace
}  // namespace scout::wire
