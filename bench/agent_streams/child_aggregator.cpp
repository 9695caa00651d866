// SPDX-License-Identifier: Apache-2.0
#include "bench/agent_streams/child_aggregator.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace scout::bench {
namespace {

/// A port that was free a moment ago.
std::uint16_t free_port() {
    const UniqueFd probe{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(probe.get(), generic, size) != 0 ||
        ::getsockname(probe.get(), generic, &size) != 0) {
        throw std::system_error(errno, std::generic_category(), "free port");
    }
    return ntohs(address.sin_port);
}

std::filesystem::path beside_us(const char* program) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
}

}  // namespace

ChildAggregator::ChildAggregator(const std::filesystem::path& folder, Way way)
    : address_(way == Way::tls ? "127.0.0.1:" + std::to_string(free_port())
                               : "unix:" + (folder / "agents.sock").string()),
      query_address_("unix:" + (folder / "query.sock").string()) {
    std::vector<std::string> arguments{beside_us("virt-scout-aggregator").string(),
                                       "--standalone",
                                       "--listen-grpc=" + address_,
                                       "--listen-http=127.0.0.1:0",
                                       "--query-socket=" + (folder / "query.sock").string(),
                                       "--state-dir=" + folder.string(),
                                       "--snapshot-every=1h",
                                       "--stale-after=1h",
                                       "--log-level=warn"};
    if (way == Way::tls) {
        const auto server = folder / "server";
        arguments.push_back("--tls-ca=" + (server / "ca.pem").string());
        arguments.push_back("--tls-cert=" + (server / "certificate.pem").string());
        arguments.push_back("--tls-key=" + (server / "key.pem").string());
    }
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (auto& argument : arguments) {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const int error =
        ::posix_spawn(&process_, pointers.front(), nullptr, nullptr, pointers.data(), environ);
    if (error != 0) {
        throw std::system_error(error, std::generic_category(), arguments.front());
    }
}

ChildAggregator::~ChildAggregator() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
}

std::size_t ChildAggregator::resident() const {
    std::ifstream statm{"/proc/" + std::to_string(process_) + "/statm"};
    std::size_t whole = 0;
    std::size_t resident = 0;
    if (!(statm >> whole >> resident)) {
        throw std::runtime_error("the aggregator is not running");
    }
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

double ChildAggregator::cpu_seconds() const {
    std::ifstream stat{"/proc/" + std::to_string(process_) + "/stat"};
    std::string word;
    std::uint64_t user = 0;
    std::uint64_t kernel = 0;
    for (int field = 1; field < 14; ++field) {
        stat >> word;
    }
    if (!(stat >> user >> kernel)) {
        throw std::runtime_error("the aggregator is not running");
    }
    return static_cast<double>(user + kernel) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace scout::bench
