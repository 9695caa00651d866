// SPDX-License-Identifier: Apache-2.0
// The bed itself: nothing of it stays behind; and it runs on an etcd that streams no lists.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "kube/informer.h"
#include "kube/objects/bare_object.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/wait_until.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;

class BedSelfTest : public test::BedTest {
protected:
    [[nodiscard]] bool answers(const std::string& url) {
        asio::ip::tcp::socket socket(loop);
        boost::system::error_code error;
        socket.connect({asio::ip::address_v4::loopback(), test::port_of(url)}, error);
        return !error;
    }
};

TEST_F(BedSelfTest, PartsEndWithAKilledBed) {
    const auto begin = std::chrono::steady_clock::now();
    const test::Bed other({.controllers = true, .scheduler = true});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << "a cluster answers after " << took.count() << " s\n";
    ASSERT_TRUE(answers(other.server()));
    ASSERT_TRUE(answers(other.etcd_url()));

    ASSERT_EQ(::kill(other.pid(), SIGKILL), 0);

    EXPECT_TRUE(test::wait_until([&] { return !answers(other.server()); }));
    EXPECT_TRUE(test::wait_until([&] { return !answers(other.etcd_url()); }));
}

/// Starts a bed and is killed, as a test program that hangs is.
class KilledStarter {
public:
    KilledStarter() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error("no pipe");
        }
        pid_ = ::fork();
        if (pid_ == 0) {
            start(ends[1]);
        }
        ::close(ends[1]);
        std::array<char, 4096> bytes{};
        for (ssize_t got = 0; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
            said_.append(bytes.data(), static_cast<std::size_t>(got));
            if (said_.ends_with('\n')) {
                break;
            }
        }
        ::close(ends[0]);
    }
    ~KilledStarter() { kill(); }
    KilledStarter(const KilledStarter&) = delete;
    KilledStarter& operator=(const KilledStarter&) = delete;
    KilledStarter(KilledStarter&&) = delete;
    KilledStarter& operator=(KilledStarter&&) = delete;

    /// Where the bed keeps its state; empty: there is none.
    [[nodiscard]] std::filesystem::path folder() const { return said_.substr(0, said_.find('\n')); }
    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(std::exchange(pid_, -1), nullptr, 0);
        }
    }

private:
    [[noreturn]] static void start(int told) {
        try {
            const test::Bed bed({});
            const auto line = bed.kubeconfig().parent_path().string() + "\n";
            if (::write(told, line.data(), line.size()) > 0) {
                ::pause();
            }
        } catch (const std::exception& error) {  // the other end reads nothing
            std::cerr << error.what() << '\n';
        }
        ::_exit(1);
    }

    pid_t pid_ = -1;
    std::string said_;
};

/// Processes in whose arguments that stands.
std::size_t processes_with(const std::string& text) {
    std::size_t found = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
        const auto words = read_file(each.path() / "cmdline");  // not of one that ends meanwhile
        found += words && words->find(text) != std::string::npos ? 1U : 0U;
    }
    return found;
}

TEST_F(BedSelfTest, NoProcessIsLeftOfOneWhoseStarterWasKilled) {
    KilledStarter starter;
    const auto folder = starter.folder();
    ASSERT_FALSE(folder.empty());
    // The bed itself, etcd and the API server.
    ASSERT_EQ(processes_with(folder), 3U);

    starter.kill();

    EXPECT_TRUE(test::wait_until([&folder] { return processes_with(folder) == 0; }));
    std::filesystem::remove_all(folder);
}

TEST_F(BedSelfTest, AnEtcdThatEndsNoStreamIsReadInPages) {
    const char* old = std::getenv("SCOUT_OLD_ETCD");
    if (old == nullptr || *old == '\0') {
        GTEST_SKIP() << "SCOUT_OLD_ETCD names no etcd before 3.4.25";
    }
    test::Bed::Options options;
    options.etcd = old;
    const test::Bed other(options);
    HttpTransport way(loop.get_executor(), test::access_to(other), clock);
    ReflectorSettings settings;
    settings.backoff = {20ms, 200ms};
    settings.stream_silence = 300ms;
    Informer<BareObject> informer(way, clock,
                                  {.resource = test::core("namespaces", "Namespace", false)},
                                  &decode_bare, settings);
    test::Background background(loop);
    background.spawn([&informer] { return informer.run(); });

    ASSERT_TRUE(run_until([&] { return informer.synced(); }));

    EXPECT_NE(informer.find("", "kube-system"), nullptr);
    EXPECT_EQ(informer.reflector().counters().pages, 1U);
}

}  // namespace
}  // namespace scout::kube
