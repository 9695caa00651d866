// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait_until.h"

namespace scout {
namespace {

using namespace std::chrono_literals;

ChildCommand shell(std::string script) {
    ChildCommand command;
    command.argv = {"/bin/sh", "-c", std::move(script)};
    command.time_limit = 20s;
    return command;
}

Result<std::string> run(ChildCommand command) {
    asio::io_context loop;
    return test::run_to_end(loop, run_child(std::move(command)));
}

/// True once no process of that id is left; zombies of others count as left.
bool is_gone(pid_t pid) {
    return ::kill(pid, 0) != 0;
}

/// Gone, or a zombie that its new parent has yet to collect.
bool has_ended(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return is_gone(pid) || (stat && stat->find(") Z ") != std::string::npos);
}

pid_t pid_in(const std::filesystem::path& file) {
    const auto text = read_file(file).value();
    pid_t pid = 0;
    EXPECT_EQ(std::from_chars(text.data(), text.data() + text.size(), pid).ec, std::errc{});
    return pid;
}

TEST(ChildProcessTest, AnswersWhatTheProgramWrote) {
    EXPECT_EQ(run(shell("printf 'one\\ntwo\\n'; exec 1>&-; echo noise >&2")).value(), "one\ntwo\n");
    EXPECT_EQ(run(shell("true")).value(), "");
}

TEST(ChildProcessTest, FindsAProgramInThePathAndGivesItItsEnvironment) {
    ::setenv("SCOUT_TEST_KEPT", "kept", 1);
    ::setenv("SCOUT_TEST_CHANGED", "old", 1);
    ChildCommand command;
    command.argv = {"sh", "-c", "echo $SCOUT_TEST_KEPT $SCOUT_TEST_CHANGED $SCOUT_TEST_ADDED"};
    command.environment = {"SCOUT_TEST_CHANGED=new", "SCOUT_TEST_ADDED=a b"};

    EXPECT_EQ(run(command).value(), "kept new a b\n");
}

TEST(ChildProcessTest, ReadsMoreThanAPipeHolds) {
    const auto output = run(shell("head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&2"));

    ASSERT_TRUE(output) << output.error().message;
    EXPECT_EQ(output->size(), 3'000'000U);
}

TEST(ChildProcessTest, TellsTheExitCodeAndTheLastWords) {
    const auto output = run(shell("echo 'cannot do it' >&2; exit 7"));

    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, Errc::unavailable);
    EXPECT_NE(output.error().message.find("exit code 7"), std::string::npos);
    EXPECT_NE(output.error().message.find("cannot do it"), std::string::npos);
}

TEST(ChildProcessTest, TellsACrash) {
    const auto output = run(shell("kill -SEGV $$"));

    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, Errc::unavailable);
    EXPECT_NE(output.error().message.find("signal 11"), std::string::npos);
}

TEST(ChildProcessTest, SaysWhenTheProgramIsNotThere) {
    ChildCommand command;
    command.argv = {"/nonexistent/program"};
    const auto output = run(command);
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, Errc::unavailable);
    EXPECT_NE(output.error().message.find("/nonexistent/program"), std::string::npos);

    EXPECT_EQ(run(ChildCommand{}).error().code, Errc::invalid);
}

TEST(ChildProcessTest, EndsAChildThatWritesTooMuch) {
    auto command = shell("yes");
    command.output_limit = 100'000;

    const auto output = run(command);

    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, Errc::invalid);
    EXPECT_NE(output.error().message.find("100000"), std::string::npos);
}

TEST(ChildProcessTest, EndsAChildAndItsOwnChildrenAtTheTimeLimit) {
    const test::TemporaryFolder folder;
    auto command = shell("sleep 300 & echo $! > " + (folder.path() / "pid").string() + "; wait");
    command.time_limit = 1500ms;

    const auto output = run(command);

    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code, Errc::timed_out);
    EXPECT_NE(output.error().message.find("1500 ms"), std::string::npos);
    const auto grandchild = pid_in(folder.path() / "pid");
    // Nobody waits for a grandchild: the kernel ends it in its own time.
    EXPECT_TRUE(test::wait_until([&] { return has_ended(grandchild); }));
}

TEST(ChildProcessTest, KillsAChildThatIgnoresTheRequestToEnd) {
    const test::TemporaryFolder folder;
    auto command = shell("trap '' TERM; echo $$ > " + (folder.path() / "pid").string() +
                         "; while :; do sleep 1; done");
    command.time_limit = 1500ms;

    const auto output = run(command);

    EXPECT_EQ(output.error().code, Errc::timed_out);
    EXPECT_TRUE(is_gone(pid_in(folder.path() / "pid")));
}

TEST(ChildProcessTest, EndsTheChildWhenCancelled) {
    const test::TemporaryFolder folder;
    const auto file = (folder.path() / "pid").string();
    asio::io_context loop;
    asio::cancellation_signal cancel;
    std::optional<Result<std::string>> answer;
    asio::co_spawn(loop, run_child(shell("echo $$ > " + file + "; exec sleep 300")),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr, Result<std::string> output) {
                           answer = std::move(output);
                       }));
    while (read_file(file).value_or("").empty()) {
        loop.run_one_for(20ms);
    }
    cancel.emit(asio::cancellation_type::terminal);

    loop.run();

    ASSERT_TRUE(answer);
    ASSERT_FALSE(*answer);
    EXPECT_EQ(answer->error().code, Errc::cancelled);
    EXPECT_TRUE(is_gone(pid_in(file)));
}

TEST(ChildProcessTest, EndsTheChildWhenTheLoopIsTornDown) {
    const test::TemporaryFolder folder;
    const auto file = folder.path() / "pid";
    {
        asio::io_context loop;
        asio::co_spawn(loop, run_child(shell("echo $$ > " + file.string() + "; exec sleep 300")),
                       [](std::exception_ptr, const Result<std::string>&) {});
        while (read_file(file).value_or("").empty()) {
            loop.run_one_for(20ms);
        }
    }

    EXPECT_TRUE(is_gone(pid_in(file)));
}

}  // namespace
}  // namespace scout
