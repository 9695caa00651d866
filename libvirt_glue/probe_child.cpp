// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/probe_child.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "libvirt_glue/embed_uri.h"
#include "libvirt_glue/event_thread.h"
#include "libvirt_glue/host_probe.h"
#include "libvirt_glue/probe_answer.h"

namespace scout::libvirt_glue {
namespace {

constexpr std::string_view flag = "--probe-child";
constexpr int wrong_arguments = 2;
constexpr int gave_up = 3;
constexpr int signal_base = 128;
/// Beyond any limit of the agent's: an end in case nobody is left to give up.
constexpr unsigned life_seconds = 600;
constexpr std::size_t children_limit = 65536;

Result<hypervisor::HostDocuments> ask(const HostQuestion& question) {
    const auto root = embed_root(question.uri);
    if (!root) {
        return fail(root.error());
    }
    if (!root->empty()) {
        if (auto prepared = prepare_embed_root(*root); !prepared) {
            return fail(std::move(prepared.error()));
        }
    }
    const auto loop = EventThread::share();
    return probe_host(question);
}

bool write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

/// The asking process: never returns into the watcher's code.
[[noreturn]] void live_as_asker(const HostQuestion& question) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none{};
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    std::string answer;
    try {
        answer = format_answer(ask(question));
    } catch (const std::exception& error) {
        answer = format_answer(fail(Errc::internal, error.what()));
    }
    // Without destructors: libvirt's threads may still be at work, and all is given back anyway.
    ::_exit(write_all(answer) ? 0 : 1);
}

std::vector<pid_t> own_children() {
    std::vector<pid_t> children;
    const auto self = std::to_string(::getpid());
    const auto text = read_file("/proc/" + self + "/task/" + self + "/children", children_limit);
    if (!text) {
        return children;
    }
    const auto* at = text->data();
    const auto* end = at + text->size();
    while (at < end) {
        pid_t child = 0;
        const auto read = std::from_chars(at, end, child);
        if (read.ec == std::errc{}) {
            children.push_back(child);
        }
        at = read.ptr + 1;
    }
    return children;
}

/// Kills everything below. Being a subreaper, this process inherits the children of what it kills.
void clear_descendants() {
    for (auto children = own_children(); !children.empty(); children = own_children()) {
        for (const auto child : children) {
            ::kill(child, SIGKILL);
        }
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) {
            return;
        }
    }
}

/// Exit code of the asker, or of giving up because of a signal.
int watch(pid_t asker, const sigset_t& awaited) {
    for (;;) {
        const int number = ::sigwaitinfo(&awaited, nullptr);
        if (number < 0 && errno == EINTR) {
            continue;
        }
        if (number != SIGCHLD) {
            return gave_up;
        }
        int status = 0;
        for (pid_t ended = ::waitpid(-1, &status, WNOHANG); ended > 0;
             ended = ::waitpid(-1, &status, WNOHANG)) {
            if (ended != asker) {
                continue;
            }
            if (WIFEXITED(status)) {
                return WEXITSTATUS(status);
            }
            std::fprintf(stderr, "the asking process was killed by signal %d\n", WTERMSIG(status));
            return signal_base + WTERMSIG(status);
        }
    }
}

}  // namespace

bool is_probe_child(int argc, const char* const* argv) noexcept {
    return argc >= 2 && flag == argv[1];
}

int probe_child_main(int argc, const char* const* argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "expected --probe-child URI [KVM-DEVICE], found %d arguments\n",
                     argc - 1);
        return wrong_arguments;
    }
    HostQuestion question;
    question.uri = argv[2];
    if (argc == 4) {
        question.kvm_device = argv[3];
    }
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t awaited{};
    ::sigemptyset(&awaited);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGALRM}) {
        ::sigaddset(&awaited, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    ::alarm(life_seconds);
    const pid_t asker = ::fork();
    if (asker < 0) {
        std::fprintf(stderr, "cannot fork\n");
        return 1;
    }
    if (asker == 0) {
        live_as_asker(question);
    }
    const int code = watch(asker, awaited);
    clear_descendants();
    return code;
}

}  // namespace scout::libvirt_glue
