// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shield.h"
#include "base/system_text.h"
#include "base/unique_fd.h"

namespace scout {
namespace {

using asio::posix::stream_descriptor;
using namespace std::chrono_literals;

constexpr std::size_t last_words_limit = 1024;
constexpr auto term_patience = 2s;
constexpr auto kill_patience = 5s;

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(Errc::unavailable, system_text(errno));
    }
    return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

/// Our environment with the entries "NAME=value" in front: they win over what has the same name.
std::vector<char*> environment_with(std::vector<std::string>& entries) {
    std::vector<char*> environment;
    environment.reserve(entries.size());
    for (auto& entry : entries) {
        environment.push_back(entry.data());
    }
    for (char** inherited = environ; inherited != nullptr && *inherited != nullptr; ++inherited) {
        const std::string_view text{*inherited};
        const auto name = text.substr(0, text.find('=') + 1);
        if (std::none_of(entries.begin(), entries.end(),
                         [name](const auto& entry) { return entry.starts_with(name); })) {
            environment.push_back(*inherited);
        }
    }
    environment.push_back(nullptr);
    return environment;
}

/// What posix_spawn is to do; freed with the object.
class SpawnPlan {
public:
    SpawnPlan() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        sigset_t none{};
        ::sigemptyset(&none);
        sigset_t all{};
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
    SpawnPlan(SpawnPlan&&) = delete;
    SpawnPlan& operator=(SpawnPlan&&) = delete;

    void give(int descriptor, int as) {
        ::posix_spawn_file_actions_adddup2(&actions_, descriptor, as);
    }

    /// 0 or an errno.
    int spawn(pid_t& child, ChildCommand& command) {
        std::vector<char*> arguments;
        arguments.reserve(command.argv.size() + 1);
        for (auto& argument : command.argv) {
            arguments.push_back(argument.data());
        }
        arguments.push_back(nullptr);
        auto environment = environment_with(command.environment);
        return ::posix_spawnp(&child, arguments.front(), &actions_, &attributes_, arguments.data(),
                              environment.data());
    }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

/// A running child. If it is destroyed before reap() succeeded (the loop is torn down), it ends the
/// child itself, waiting at most two seconds.
class Child {
public:
    Child(const asio::any_io_executor& loop, pid_t pid, UniqueFd watch, UniqueFd from_out,
          UniqueFd from_err)
        : exited(loop, watch.release()),
          out(loop, from_out.release()),
          err(loop, from_err.release()),
          pid_(pid) {}
    ~Child() {
        if (pid_ <= 0) {
            return;
        }
        signal(SIGTERM);
        pollfd watch{.fd = exited.native_handle(), .events = POLLIN, .revents = 0};
        static_cast<void>(
            ::poll(&watch, 1, static_cast<int>(std::chrono::milliseconds(term_patience).count())));
        signal(SIGKILL);
        static_cast<void>(::waitpid(pid_, nullptr, 0));
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    Child(Child&&) = delete;
    Child& operator=(Child&&) = delete;

    void signal(int number) const {
        if (pid_ > 0) {
            ::kill(-pid_, number);
        }
    }

    /// Collects the exit status if the child has ended.
    bool reap() {
        siginfo_t info{};
        if (pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 &&
            info.si_pid == pid_) {
            // What it left in its group goes with it.
            signal(SIGKILL);
            pid_ = -1;
            died_by_signal = info.si_code != CLD_EXITED;
            status = info.si_status;
        }
        return pid_ <= 0;
    }

    stream_descriptor exited;  ///< pidfd: readable once the child has ended
    stream_descriptor out;
    stream_descriptor err;
    std::string output;
    std::string last_words;
    std::size_t output_limit = 0;
    bool too_much = false;
    bool died_by_signal = false;
    int status = 0;

private:
    pid_t pid_;
};

using ChildPtr = std::shared_ptr<Child>;

Task<> read_output(ChildPtr child) {
    std::array<char, 16384> buffer{};
    const auto space = asio::buffer(buffer);
    for (;;) {
        const auto [error, got] = co_await child->out.async_read_some(space, as_result);
        if (child->output.size() + got > child->output_limit) {
            child->too_much = true;
            co_return;
        }
        child->output.append(buffer.data(), got);
        if (error) {
            co_return;
        }
    }
}

void keep_last_words(Child& child, std::string_view text) {
    child.last_words.append(text);
    if (child.last_words.size() > last_words_limit) {
        child.last_words.erase(0, child.last_words.size() - last_words_limit);
    }
}

/// Keeps the pipe from filling up; ends by cancellation only.
Task<> read_last_words(ChildPtr child) {
    std::array<char, 4096> buffer{};
    const auto space = asio::buffer(buffer);
    boost::system::error_code ended;
    while (!ended) {
        const auto [error, got] = co_await child->err.async_read_some(space, as_result);
        keep_last_words(*child, std::string_view(buffer.data(), got));
        ended = error;
    }
    asio::steady_timer forever(child->err.get_executor(), asio::steady_timer::time_point::max());
    co_await forever.async_wait(as_result);
}

/// What is left in the pipe after the child's end.
void drain_last_words(Child& child) {
    std::array<char, 4096> buffer{};
    boost::system::error_code error;
    child.err.non_blocking(true, error);
    for (int portion = 0; portion < 64 && !error; ++portion) {
        const auto got = child.err.read_some(asio::buffer(buffer), error);
        keep_last_words(child, std::string_view(buffer.data(), got));
    }
}

Task<> read_until_exit(ChildPtr child) {
    co_await read_output(child);
    if (!child->too_much) {
        co_await child->exited.async_wait(stream_descriptor::wait_read, as_result);
    }
}

/// Until the child has ended and its output was read, or there is too much of it.
Task<> follow(ChildPtr child) {
    using namespace asio::experimental::awaitable_operators;
    co_await (read_until_exit(child) || read_last_words(child));
}

/// True if the child ended within the limit.
Task<bool> await_exit(ChildPtr child, std::chrono::milliseconds limit) {
    using namespace asio::experimental::awaitable_operators;
    if (!child->reap()) {
        asio::steady_timer timer(co_await asio::this_coro::executor, limit);
        co_await (child->exited.async_wait(stream_descriptor::wait_read, as_result) ||
                  timer.async_wait(as_result));
    }
    co_return child->reap();
}

Task<> end_child(ChildPtr child) {
    if (child->reap()) {
        co_return;
    }
    child->signal(SIGTERM);
    const bool ended = co_await await_exit(child, term_patience);
    if (!ended) {
        child->signal(SIGKILL);
        static_cast<void>(co_await await_exit(child, kill_patience));
    }
}

/// glibc 2.36 declares its pidfd_open without C linkage.
int open_pidfd(pid_t pid) {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
}

Result<ChildPtr> start(const asio::any_io_executor& loop, ChildCommand& command) {
    auto out = make_pipe();
    auto err = make_pipe();
    if (!out || !err) {
        return fail(!out ? std::move(out.error()) : std::move(err.error()));
    }
    SpawnPlan plan;
    plan.give(out->write.get(), STDOUT_FILENO);
    plan.give(err->write.get(), STDERR_FILENO);
    pid_t pid = -1;
    if (const int error = plan.spawn(pid, command); error != 0) {
        return fail(Errc::unavailable, system_text(error));
    }
    UniqueFd watch{open_pidfd(pid)};
    if (!watch) {
        const int error = errno;
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return fail(Errc::unavailable, "pidfd_open: " + system_text(error));
    }
    auto child = std::make_shared<Child>(loop, pid, std::move(watch), std::move(out->read),
                                         std::move(err->read));
    child->output_limit = command.output_limit;
    return child;
}

Result<std::string> judge(Child& child, const ChildCommand& command, bool in_time, bool cancelled) {
    if (cancelled) {
        return fail(Errc::cancelled, "gave up waiting");
    }
    if (child.too_much) {
        return fail(Errc::invalid, "expected at most " + std::to_string(command.output_limit) +
                                       " bytes of output, found more");
    }
    if (!in_time) {
        return fail(Errc::timed_out,
                    "no answer within " + std::to_string(command.time_limit.count()) + " ms");
    }
    if (child.died_by_signal || child.status != 0) {
        std::string message = child.died_by_signal ? "killed by signal " : "ended with exit code ";
        message += std::to_string(child.status);
        drain_last_words(child);
        if (!child.last_words.empty()) {
            message += ", its last words: " + child.last_words;
        }
        return fail(Errc::unavailable, std::move(message));
    }
    return std::move(child.output);
}

}  // namespace

Task<Result<std::string>> run_child(ChildCommand command) {
    using namespace asio::experimental::awaitable_operators;
    const auto loop = co_await asio::this_coro::executor;
    if (command.argv.empty()) {
        co_return fail(Errc::invalid, "expected a program to start, found none");
    }
    auto started = start(loop, command);
    if (!started) {
        co_return fail(std::move(started.error()).within("start " + command.argv.front()));
    }
    const auto child = std::move(*started);
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer timer(loop, command.time_limit);
    const auto ended = co_await (follow(child) || timer.async_wait(as_result));
    const auto cancel_state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = cancel_state.cancelled() != asio::cancellation_type::none;
    co_await shield(end_child(child));
    co_await asio::this_coro::throw_if_cancelled(throws);
    auto answer = judge(*child, command, ended.index() == 0, cancelled);
    if (!answer) {
        co_return fail(std::move(answer.error()).within("program " + command.argv.front()));
    }
    co_return answer;
}

}  // namespace scout
