// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bed.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scout::test {
namespace {

using namespace std::chrono_literals;

// The bed itself gives its API server a minute.
constexpr std::chrono::milliseconds longest_answer = 90s;
constexpr std::chrono::milliseconds longest_end = 10s;

/// Starts the program with one end of the pair as its standard input and output.
pid_t spawn(const std::vector<std::string>& words, int socket, const std::filesystem::path& log) {
    std::vector<char*> argv;
    for (const auto& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    pid_t child = -1;
    const int failed =
        ::posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), ::environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ? child : -1;
}

bool readable_within(int socket, std::chrono::milliseconds time) {
    pollfd wanted{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, static_cast<int>(time.count())) > 0;
}

std::string text_at(const boost::json::value& document, std::string_view key) {
    const auto& text = document.at(key).as_string();
    return {text.data(), text.size()};
}

}  // namespace

std::filesystem::path bed_program() {
    const char* named = std::getenv("SCOUT_BED");
    if (named != nullptr && *named != '\0') {
        return named;
    }
    const std::filesystem::path built{SCOUT_BUILT_BED};
    std::error_code error;
    return std::filesystem::exists(built, error) ? built : std::filesystem::path{};
}

Bed::Bed(const Options& options) {
    std::vector<std::string> words{bed_program().string(), "up",
                                   "--folder=" + folder_.path().string()};
    words.emplace_back(options.controllers ? "--controllers" : "--controllers=false");
    words.emplace_back(options.scheduler ? "--scheduler" : "--scheduler=false");
    if (!options.etcd.empty()) {
        words.push_back("--etcd=" + options.etcd.string());
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        fail("no socket");
    }
    socket_ = ends[0];
    pid_ = spawn(words, ends[1], folder_.path() / "bed.log");
    ::close(ends[1]);
    try {
        const auto ready = boost::json::parse(read_line());
        server_ = text_at(ready, "server");
        kubeconfig_ = text_at(ready, "kubeconfig");
        etcd_url_ = text_at(ready, "etcd");
    } catch (...) {
        end();
        throw;
    }
}

Bed::~Bed() {
    end();
}

void Bed::end() noexcept {
    if (pid_ > 0) {
        // The bed ends at the end of its input, and with it the last end of the pair.
        ::shutdown(socket_, SHUT_WR);
        std::array<char, 256> rest{};
        while (readable_within(socket_, longest_end) &&
               ::recv(socket_, rest.data(), rest.size(), 0) > 0) {
        }
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    ::close(socket_);
}

void Bed::ask(const std::string& line) {
    const auto sent = line + "\n";
    if (::send(socket_, sent.data(), sent.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(sent.size())) {
        fail("it has ended");
    }
    const auto answer = read_line();
    if (answer != "done " + line) {
        fail("expected 'done " + line + "', found '" + answer + "'");
    }
}

std::string Bed::read_line() {
    for (;;) {
        if (const auto at = unread_.find('\n'); at != std::string::npos) {
            auto line = unread_.substr(0, at);
            unread_.erase(0, at + 1);
            return line;
        }
        if (!readable_within(socket_, longest_answer)) {
            fail("no answer in " + std::to_string(longest_answer.count()) + " ms");
        }
        std::array<char, 4096> bytes{};
        const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            fail("it has ended");
        }
        unread_.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

void Bed::fail(const std::string& what) const {
    std::ifstream log(folder_.path() / "bed.log");
    const std::string said{std::istreambuf_iterator<char>(log), {}};
    throw std::runtime_error("bed " + bed_program().string() + ": " + what + "\n" + said);
}

Bed& shared_bed() {
    static std::unique_ptr<Bed> bed;
    static std::optional<std::string> failure;
    if (failure) {
        throw std::runtime_error(*failure);
    }
    if (bed == nullptr) {
        try {
            bed = std::make_unique<Bed>(Bed::Options{});
        } catch (const std::runtime_error& error) {
            failure = error.what();
            throw;
        }
    }
    return *bed;
}

}  // namespace scout::test
