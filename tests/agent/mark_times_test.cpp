// SPDX-License-Identifier: Apache-2.0
#include "agent/mark_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::agent {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

class MarkTimesTest : public testing::Test {
protected:
    MarkTimesTest() { folder.write("boot", "b-1\n"); }

    [[nodiscard]] Result<MarkTimes> read() const {
        return read_marks(file, boot, now).map([](KeptMarks kept) { return kept.marks; });
    }

    test::TemporaryFolder folder;
    std::filesystem::path file = folder.path() / "marks";
    std::filesystem::path boot = folder.path() / "boot";
    SteadyTime now{1h};
};

TEST_F(MarkTimesTest, NextAgentOfThisBootKnowsThem) {
    EXPECT_THAT(read().value(), IsEmpty());
    const MarkTimes marks{{"p1", now - 10s}, {"p2", now - 20ms}};
    ASSERT_TRUE(write_marks(file, boot, marks));
    EXPECT_EQ(read().value(), marks);
    now -= 15s;
    EXPECT_THAT(read().value(), IsEmpty());
}

TEST_F(MarkTimesTest, TheFileTellsWhenTheAgentWasAliveLast) {
    const auto alive = [this] { return read_marks(file, boot, now).value().alive; };
    EXPECT_EQ(alive(), std::nullopt);
    EXPECT_FALSE(note_alive(file));
    ASSERT_TRUE(write_marks(file, boot, {}));
    const auto written = std::filesystem::last_write_time(file);
    std::filesystem::last_write_time(file, written - 20s);
    ASSERT_TRUE(alive());
    EXPECT_LE(*alive(), now - 20s);
    EXPECT_GT(*alive(), now - 30s);
    ASSERT_TRUE(note_alive(file));
    EXPECT_GT(*alive(), now - 10s);
    std::filesystem::last_write_time(file, written + 1h);
    EXPECT_EQ(alive(), std::nullopt) << "the clock was set";
}

TEST_F(MarkTimesTest, ThoseOfAnotherBootAreNone) {
    ASSERT_TRUE(write_marks(file, boot, {{"p1", now - 10s}}));
    folder.write("boot", "b-2\n");
    EXPECT_THAT(read().value(), IsEmpty());
}

TEST_F(MarkTimesTest, DamagedFileIsToldAndNeverTrusted) {
    for (const auto* text : {"", "pods 1\n", "boot b-1\np1 soon\n", "boot b-1\np1 -5\n",
                             "boot b-1\np1 99999999999999999999\n"}) {
        folder.write("marks", text);
        EXPECT_FALSE(read()) << text;
    }
    folder.write("marks", "boot b-1\np1 1000\np2");
    EXPECT_EQ(read().value().size(), 1U);
    folder.write("marks", std::string(std::size_t{300} << 10U, 'x'));
    EXPECT_FALSE(read());
}

TEST_F(MarkTimesTest, HostWithoutABootIdKeepsNone) {
    std::filesystem::remove(boot);
    EXPECT_FALSE(read());
    EXPECT_FALSE(write_marks(file, boot, {}));
}

}  // namespace
}  // namespace scout::agent
