// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/fake_launcher.h"
#include "tests/launcher/raw_listener.h"
#include "tests/support/no_descriptor_left.h"
#include "tests/support/temporary_folder.h"

namespace scout::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LauncherSocketsTest : public testing::Test {
protected:
    /// The folder of a pod that has one for sockets.
    [[nodiscard]] std::filesystem::path made(const std::string& pod_uid) const {
        auto sockets = test::sockets_of(pods.path(), pod_uid);
        std::filesystem::create_directories(sockets);
        return sockets;
    }
    /// "pod:state", sorted by pod.
    [[nodiscard]] std::vector<std::string> found() const {
        std::vector<std::string> lines;
        const auto all = find_launchers(pods.path()).value();
        for (const auto& each : all) {
            constexpr std::array words{"starting", "ready", "unresponsive", "foreign"};
            lines.push_back(each.pod_uid + ":" + words.at(static_cast<std::size_t>(each.state)));
        }
        return lines;
    }
    [[nodiscard]] LauncherSocket only() const { return find_launchers(pods.path()).value().at(0); }

    test::TemporaryFolder pods;
};

TEST_F(LauncherSocketsTest, FollowsALauncherFromItsStartToItsEnd) {
    EXPECT_THAT(found(), IsEmpty());
    std::filesystem::create_directories(pods.path() / "p1" / "volumes");
    EXPECT_THAT(found(), IsEmpty());
    const auto sockets = made("p1");
    EXPECT_THAT(found(), ElementsAre("p1:starting"));
    const test::RawListener listener(sockets / "launcher-init-sock");
    EXPECT_THAT(found(), ElementsAre("p1:starting"));
    std::filesystem::rename(sockets / "launcher-init-sock", sockets / "launcher-sock");
    EXPECT_THAT(found(), ElementsAre("p1:ready"));
    pods.write(sockets / "launcher-unresponsive", "");
    EXPECT_THAT(found(), ElementsAre("p1:unresponsive"));
    std::filesystem::remove_all(pods.path() / "p1");
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(LauncherSocketsTest, NothingButASocketCountsAndNoLinkIsFollowed) {
    const test::TemporaryFolder outside;
    const test::RawListener elsewhere(outside.path() / "launcher-sock");
    const auto link = [](const std::filesystem::path& to, const std::filesystem::path& at) {
        std::filesystem::create_directories(at.parent_path());
        std::filesystem::create_symlink(to, at);
    };
    pods.write(made("file") / "launcher-sock", "no socket");
    link(outside.path() / "launcher-sock", made("link") / "launcher-sock");
    link(outside.path(), test::sockets_of(pods.path(), "folder"));
    std::filesystem::create_directories(outside.path() / sockets_folder);
    link(outside.path(), pods.path() / "pod");
    link(outside.path() / "volumes", pods.path() / "volumes-link" / "volumes");

    EXPECT_THAT(found(), ElementsAre("file:foreign", "link:foreign"));
}

TEST_F(LauncherSocketsTest, ConnectsAlsoBehindAPathThatIsTooLongForASocket) {
    const std::string pod_uid = "0b6c7d1e-1111-4222-8333-444455556666";
    const auto folder = pods.path() / std::string(40, 'd');
    const auto sockets = test::sockets_of(folder, pod_uid);
    const test::RawListener listener(pods.path() / "short");
    std::filesystem::create_directories(sockets);
    std::filesystem::rename(pods.path() / "short", sockets / "launcher-sock");
    ASSERT_GT((sockets / "launcher-sock").string().size(), 107U);

    const auto all = find_launchers(folder).value();
    ASSERT_EQ(all.size(), 1U);

    const auto connected = connect_launcher(folder, all[0]);
    EXPECT_TRUE(connected) << connected.error().message;
}

TEST_F(LauncherSocketsTest, WhatWasPutUnderTheNameMeanwhileIsNotTalkedTo) {
    const auto sockets = made("p1");
    const test::TemporaryFolder outside;
    const test::RawListener elsewhere(outside.path() / "launcher-sock");
    auto first = std::make_unique<test::RawListener>(sockets / "launcher-sock");
    const auto known = only();
    EXPECT_TRUE(connect_launcher(pods.path(), known));

    std::filesystem::rename(sockets / "launcher-sock", sockets / "kept");
    EXPECT_EQ(connect_launcher(pods.path(), known).error().code, Errc::not_found);
    std::filesystem::create_symlink(outside.path() / "launcher-sock", sockets / "launcher-sock");
    EXPECT_EQ(connect_launcher(pods.path(), known).error().code, Errc::refused);
    std::filesystem::remove(sockets / "launcher-sock");
    const test::RawListener second(sockets / "launcher-sock");
    EXPECT_EQ(connect_launcher(pods.path(), known).error().code, Errc::refused);
    EXPECT_TRUE(connect_launcher(pods.path(), only()));
}

TEST_F(LauncherSocketsTest, ASocketThatNobodyHearsIsUnavailable) {
    const auto sockets = made("p1");
    auto listener = std::make_unique<test::RawListener>(sockets / "launcher-sock");
    const auto known = only();
    listener.reset();

    const auto connected = connect_launcher(pods.path(), known);

    EXPECT_EQ(connected.error().code, Errc::unavailable);
    EXPECT_THAT(connected.error().message, HasSubstr("launcher of pod p1: cannot connect"));
}

TEST_F(LauncherSocketsTest, AFolderOfPodsThatIsNotThereIsAnError) {
    EXPECT_EQ(find_launchers(pods.path() / "absent").error().code, Errc::not_found);
    pods.write("file", "");
    EXPECT_EQ(find_launchers(pods.path() / "file").error().code, Errc::invalid);
}

/// Their evacuations, and since when they are marked, would be forgotten.
TEST_F(LauncherSocketsTest, WithoutDescriptorsNobodyIsTakenForGone) {
    if (!test::NoDescriptorLeft::possible) {
        GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    }
    static_cast<void>(made("p1"));
    unsigned told = 0;
    for (unsigned few = 0; few < 8; ++few) {
        const test::NoDescriptorLeft limit(few);
        const auto all = find_launchers(pods.path());
        EXPECT_TRUE(!all || all->size() == 1) << few;
        told += all ? 0 : 1;
    }
    EXPECT_GE(told, 3U);
    EXPECT_LT(told, 8U);
}

}  // namespace
}  // namespace scout::launcher
