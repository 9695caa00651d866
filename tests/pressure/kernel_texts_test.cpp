// SPDX-License-Identifier: Apache-2.0
#include "pressure/kernel_texts.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::pressure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class T>
std::string refusal(const Result<T>& result) {
    return result ? "(taken)" : result.error().message;
}

TEST(KernelTextsTest, NumbersAndLimits) {
    EXPECT_EQ(parse_number("4096\n").value(), 4096U);
    EXPECT_THAT(refusal(parse_number("")), HasSubstr("expected a number"));
    EXPECT_THAT(refusal(parse_number("12 34")), HasSubstr("'\"12 34\"'"));
    EXPECT_THAT(refusal(parse_number("-1")), HasSubstr("-1"));
    EXPECT_THAT(refusal(parse_number("99999999999999999999999")), HasSubstr("expected a number"));
    EXPECT_EQ(parse_limit("1073741824\n").value(), 1073741824U);
    EXPECT_EQ(parse_limit("max\n").value(), std::nullopt);
    EXPECT_EQ(parse_limit("9223372036854771712\n").value(), std::nullopt);
    EXPECT_FALSE(parse_limit("maximum"));
}

TEST(KernelTextsTest, AKeyOfMemoryStat) {
    const std::string text = "anon 10\ninactive_file 30\nfile 20\nbad x\n";
    EXPECT_EQ(parse_stat(text, "file").value(), 20U);
    EXPECT_EQ(parse_stat(text, "inactive_file").value(), 30U);
    EXPECT_THAT(refusal(parse_stat(text, "slab")), HasSubstr("'slab NUMBER'"));
    EXPECT_THAT(refusal(parse_stat(text, "bad")), AllOf(HasSubstr("bad"), HasSubstr("'x'")));
    EXPECT_FALSE(parse_stat("", "anon"));
}

TEST(KernelTextsTest, MemInfo) {
    const auto info = parse_meminfo(
        "MemTotal:       16384 kB\nMemFree: 1 kB\nSwapTotal: 4 kB\nSwapFree:         2 kB\n");
    EXPECT_EQ(
        info.value(),
        (MemInfo{.total = std::uint64_t{16384} * 1024, .swap_total = 4096, .swap_free = 2048}));
    EXPECT_THAT(refusal(parse_meminfo("MemFree: 1 kB\n")), HasSubstr("MemTotal"));
    EXPECT_THAT(refusal(parse_meminfo("MemTotal: 0 kB\n")), HasSubstr("MemTotal"));
    EXPECT_THAT(refusal(parse_meminfo("MemTotal: much\n")), HasSubstr("'much'"));
    EXPECT_GT(parse_meminfo("MemTotal: 18446744073709551615 kB\n").value().total,
              std::numeric_limits<std::uint64_t>::max() / 2);
}

TEST(KernelTextsTest, StallsAreShares) {
    EXPECT_EQ(parse_stall("some avg10=12.50 avg60=1.00 avg300=0.10 total=1234\n"
                          "full avg10=2.00 avg60=1.00 avg300=0.10 total=12\n")
                  .value(),
              (Stall{.some = 0.125, .full = 0.02}));
    // Of the processor there was no "full" line once.
    EXPECT_EQ(parse_stall("some avg10=100.00 avg60=0 avg300=0 total=1\n").value(),
              (Stall{.some = 1, .full = 0}));
    EXPECT_THAT(refusal(parse_stall("")), HasSubstr("some avg10=PERCENT"));
    EXPECT_FALSE(parse_stall("some avg10=101 total=1\n"));
    EXPECT_FALSE(parse_stall("some avg10=nan total=1\n"));
    EXPECT_FALSE(parse_stall("some avg10=-1 total=1\n"));
    EXPECT_FALSE(parse_stall("some total=1\n"));
}

TEST(KernelTextsTest, TasksAreThoseOfTheWholeMachine) {
    EXPECT_EQ(parse_task_count("0.10 0.20 0.30 9/149 3690\n").value(), 149U);
    EXPECT_THAT(refusal(parse_task_count("0.10 0.20 0.30\n")), HasSubstr("RUNNING/ALL"));
    EXPECT_FALSE(parse_task_count("0.10 0.20 0.30 9 3690\n"));
    EXPECT_FALSE(parse_task_count(""));
}

TEST(KernelTextsTest, FilesAreSmallAndErrorsNameThem) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("memory.current", "lots\n");
    EXPECT_THAT(refusal(read_kernel_file(file, parse_number)),
                AllOf(HasSubstr("memory.current"), HasSubstr("'lots'")));
    folder.write("memory.current", std::string(kernel_file_limit + 1, '1'));
    EXPECT_THAT(refusal(read_kernel_file(file, parse_number)), HasSubstr("at most 65536"));
    const auto absent = read_kernel_file(folder.path() / "absent", parse_number);
    EXPECT_EQ(absent.error().code, Errc::not_found);
    EXPECT_FALSE(read_kernel_file(folder.path(), parse_number));
}

}  // namespace
}  // namespace scout::pressure
