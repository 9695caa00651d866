// SPDX-License-Identifier: Apache-2.0
#include "base/folder_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

class FolderWatchTest : public testing::Test {
protected:
    /// How long one wait took while `during` happened.
    std::chrono::milliseconds wait(FolderWatch& watch, std::chrono::milliseconds limit,
                                   const std::function<void()>& during) {
        const auto begun = clock.steady();
        asio::steady_timer soon(loop, 20ms);
        soon.async_wait([&](const boost::system::error_code&) { during(); });
        test::run_to_end(loop, watch.wait(limit, 10ms));
        return std::chrono::duration_cast<std::chrono::milliseconds>(clock.steady() - begun);
    }

    asio::io_context loop{1};
    SystemClock clock;
    test::TemporaryFolder folder;
};

TEST_F(FolderWatchTest, WakesWhenAFileIsWrittenReplacedOrRemoved) {
    FolderWatch watch(loop.get_executor(), folder.path());

    EXPECT_LT(wait(watch, 10s, [&] { folder.write("a", "1"); }), 5s);
    EXPECT_LT(wait(watch, 10s,
                   [&] { static_cast<void>(write_file_atomically(folder.path() / "a", "2")); }),
              5s);
    EXPECT_LT(wait(watch, 10s, [&] { std::filesystem::remove(folder.path() / "a"); }), 5s);
}

TEST_F(FolderWatchTest, FollowsAFolderThatIsRemovedAndComesBack) {
    const auto inner = folder.path() / "inner";
    std::filesystem::create_directory(inner);
    FolderWatch watch(loop.get_executor(), inner);

    EXPECT_LT(wait(watch, 10s, [&] { std::filesystem::remove(inner); }), 5s);
    EXPECT_GE(wait(watch, 50ms, [&] { std::filesystem::create_directory(inner); }), 50ms);
    EXPECT_LT(wait(watch, 10s, [&] { folder.write("inner/a", "1"); }), 5s);
}

TEST_F(FolderWatchTest, WatchesSeveralFoldersAndForgetsThoseNoLongerNamed) {
    const auto first = folder.path() / "first";
    const auto second = folder.path() / "second";
    std::filesystem::create_directories(first);
    std::filesystem::create_directories(second);
    FolderWatch watch(loop.get_executor(), first);
    watch.watch({first, second});

    EXPECT_LT(wait(watch, 10s, [&] { folder.write("first/a", "1"); }), 5s);
    EXPECT_LT(wait(watch, 10s, [&] { std::filesystem::create_directory(second / "b"); }), 5s);
    watch.watch({second});
    // The end of a watch is a notice too.
    test::run_to_end(loop, watch.wait(50ms, 10ms));
    EXPECT_GE(wait(watch, 100ms, [&] { folder.write("first/a", "2"); }), 100ms);
    EXPECT_LT(wait(watch, 10s, [&] { std::filesystem::rename(second / "b", second / "c"); }), 5s);
}

TEST_F(FolderWatchTest, SignatureSeesContentsComeAndGo) {
    const auto empty = folder_signature(folder.path()).value();
    folder.write("a", "1");
    const auto one = folder_signature(folder.path()).value();
    folder.write("a", "22");
    const auto other = folder_signature(folder.path()).value();

    EXPECT_THAT(empty, IsEmpty());
    EXPECT_NE(one, other);
    EXPECT_THAT(folder_signature(folder.path() / "absent").value(), IsEmpty());
}

}  // namespace
}  // namespace scout
