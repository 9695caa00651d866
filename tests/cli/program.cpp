// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace scout::cli::test {
namespace {

std::string program() {
    const char* named = std::getenv("SCOUTCTL");
    return named == nullptr ? SCOUTCTL_PROGRAM : named;
}

std::string slurp(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Files for stdin, stdout and stderr, and the folder to stand in.
class Actions {
public:
    Actions(const std::filesystem::path& folder, const std::filesystem::path& in,
            const std::filesystem::path& out, const std::filesystem::path& err) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
        const int flags = O_WRONLY | O_CREAT | O_TRUNC;
        posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, out.c_str(), flags, 0600);
        posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, err.c_str(), flags, 0600);
    }
    ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
    Actions(Actions&&) = delete;
    Actions& operator=(Actions&&) = delete;

    [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (auto& word : words) {
        out.push_back(word.data());
    }
    out.push_back(nullptr);
    return out;
}

void wait_for(pid_t child, Outcome& outcome) {
    int status = 0;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.peak_kib = used.ru_maxrss;
}

}  // namespace

std::filesystem::path small_documents() {
    return SCOUT_SMALL_DOCUMENTS;
}

Outcome scoutctl(const std::vector<std::string>& words, const std::filesystem::path& folder,
                 const std::string& input) {
    const scout::test::TemporaryFolder scratch;
    const auto in = scratch.write("in", input);
    const auto out = scratch.path() / "out";
    const auto err = scratch.path() / "err";
    std::vector<std::string> argv{program()};
    argv.insert(argv.end(), words.begin(), words.end());
    std::vector<std::string> environment{"HOME=" + scratch.path().string(), "PATH=/usr/bin:/bin"};
    for (const auto* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
        if (const char* value = std::getenv(name)) {
            environment.push_back(std::string(name) + "=" + value);
        }
    }
    const Actions actions(folder, in, out, err);
    pid_t child = 0;
    auto arguments = pointers(argv);
    auto variables = pointers(environment);
    const int failed = ::posix_spawn(&child, argv.front().c_str(), actions.get(), nullptr,
                                     arguments.data(), variables.data());
    if (failed != 0) {
        throw std::runtime_error("cannot start " + argv.front());
    }
    Outcome outcome;
    wait_for(child, outcome);
    outcome.out = slurp(out);
    outcome.err = slurp(err);
    return outcome;
}

}  // namespace scout::cli::test
