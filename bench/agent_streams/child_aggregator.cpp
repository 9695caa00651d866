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

ChildAggregator::ChildAggregator(const std::filesystem::path& folder) : port_(free_port()) {
    const auto server = folder / "server";
    std::vector<std::string> arguments{beside_us("virt-scout-aggregator").string(),
                                       "--standalone",
                                       "--listen-grpc=127.0.0.1:" + std::to_string(port_),
                                       "--listen-http=127.0.0.1:0",
                                       "--query-socket=" + (folder / "query.sock").string(),
                                       "--state-dir=" + folder.string(),
                                       "--snapshot-every=1h",
                                       "--stale-after=1h",
                                       "--tls-ca=" + (server / "ca.pem").string(),
                                       "--tls-cert=" + (server / "certificate.pem").string(),
                                       "--tls-key=" + (server / "key.pem").string(),
                                       "--log-level=warn"};
    std::vector<char*> pointers;
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

}  // namespace scout::bench
