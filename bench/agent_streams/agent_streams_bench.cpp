// SPDX-License-Identifier: Apache-2.0
// The aggregator's registry with 5,000 nodes: its memory and what answers cost its loop; and what
// each connected agent costs with TLS. Peer of the latter: a TLS connection to the same program on
// which nothing was ever asked.
//
// usage: agent_streams_bench [AGENTS]
#include <charconv>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <grpcpp/channel.h>
#include <malloc.h>
#include <unistd.h>

#include "aggregator/fleet.h"
#include "aggregator/snapshot_messages.h"
#include "base/files.h"
#include "bench/agent_streams/agent.h"
#include "bench/agent_streams/answers.h"
#include "bench/agent_streams/child_aggregator.h"
#include "bench/agent_streams/known_fleet.h"
#include "bench/agent_streams/profiles.h"
#include "bench/report.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"
#include "wire/grpc_logs.h"

namespace scout::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t classes = 40;
constexpr std::size_t registry_limit_kib = std::size_t{64} * 1024;
constexpr std::size_t agent_limit_kib = 64;
constexpr std::size_t idle_connections = 500;
constexpr std::size_t in_flight = 64;

std::size_t own_resident() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t whole = 0;
    std::size_t resident = 0;
    statm >> whole >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string kib(std::size_t bytes) {
    return std::to_string(bytes / 1024) + " KiB";
}

/// Prints the registry's size; answers the fleet as a snapshot.
std::string measure_registry(const std::vector<migration::Profile>& profiles, std::size_t nodes) {
    const SystemClock clock;
    ::malloc_trim(0);
    const auto before = own_resident();
    aggregator::Fleet fleet{{}, "", std::nullopt, clock};
    fill(fleet, profiles, nodes);
    ::malloc_trim(0);
    const auto used = own_resident() - before;
    row("registry, " + std::to_string(nodes) + " nodes, " +
            std::to_string(nodes * guests_of_a_node) + " guests",
        kib(used), "", "", "<= 65536 KiB", used / 1024 <= registry_limit_kib);
    measure_answers(fleet);
    return aggregator::encode_snapshot(fleet.registry(), clock.wall(), clock.steady());
}

class Run {
public:
    Run(const test::Authority& authority, const std::filesystem::path& folder)
        : authority_(authority), child_(folder), before_(resident_when_up()) {}

    [[nodiscard]] std::shared_ptr<grpc::Channel> open(const std::string& node) const {
        return open_channel(authority_, child_.address(), node);
    }
    [[nodiscard]] std::shared_ptr<grpc::Channel> connect(const std::string& node) const {
        auto channel = open(node);
        if (!channel->WaitForConnected(std::chrono::system_clock::now() + 60s)) {
            throw std::runtime_error("no connection to the aggregator");
        }
        return channel;
    }
    /// What came on top since the start, for each of so many.
    [[nodiscard]] std::size_t grown_for_each(std::size_t count) const {
        settle();
        const auto now = child_.resident();
        return now > before_ ? (now - before_) / count : 0;
    }

private:
    /// It is up when the first connection is.
    [[nodiscard]] std::size_t resident_when_up() const {
        const auto first = connect("first");
        settle();
        return child_.resident();
    }
    /// Until the size does not change for a second.
    void settle() const {
        auto last = child_.resident();
        for (int quiet = 0; quiet < 4;) {
            std::this_thread::sleep_for(250ms);
            const auto now = child_.resident();
            quiet = now == last ? quiet + 1 : 0;
            last = now;
        }
    }

    const test::Authority& authority_;
    ChildAggregator child_;
    std::size_t before_;
};

void wait_for(const Progress& progress, std::size_t reported) {
    const auto limit = std::chrono::steady_clock::now() + 120s;
    while (progress.reported < reported) {
        if (progress.failed > 0 || std::chrono::steady_clock::now() > limit) {
            throw std::runtime_error(
                "agents could not report: " + std::to_string(progress.reported) + " have");
        }
        std::this_thread::sleep_for(1ms);
    }
}

std::size_t measure_agents(const Run& run, const std::vector<migration::Profile>& profiles,
                           std::size_t count) {
    Progress progress;
    std::deque<Agent> agents;
    for (std::size_t i = 0; i < count; ++i) {
        wait_for(progress, i < in_flight ? 0 : i - in_flight);
        const auto name = node_name(i);
        agents.emplace_back(
            run.open(name), name,
            [&profiles, i] {
                return make_report(profiles[i % profiles.size()], i, guests_of_a_node);
            },
            progress);
    }
    wait_for(progress, count);
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(500ms);
        for (auto& agent : agents) {
            agent.beat();
        }
    }
    const auto each = run.grown_for_each(count);
    for (auto& agent : agents) {
        agent.end();
    }
    return each;
}

std::size_t measure_connections(const Run& run) {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    channels.reserve(idle_connections);
    for (std::size_t i = 0; i < idle_connections; ++i) {
        channels.push_back(run.connect(node_name(i)));
    }
    return run.grown_for_each(idle_connections);
}

int measure(std::size_t agents) {
    const test::TemporaryFolder folder;
    const test::Authority authority{"bench authority"};
    authority.issue(folder.path() / "server", "127.0.0.1", "localhost");
    const auto profiles = make_profiles(classes);
    const auto snapshot = measure_registry(profiles, agents);
    if (!write_file_atomically(folder.path() / "aggregator.snapshot", snapshot)) {
        throw std::runtime_error("the snapshot could not be written");
    }
    const auto connection = measure_connections(Run{authority, folder.path()});
    const auto agent = measure_agents(Run{authority, folder.path()}, profiles, agents);
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.2f",
                  static_cast<double>(agent) / static_cast<double>(connection));
    row("each of " + std::to_string(agents) + " agents, TLS stream", kib(agent),
        kib(connection) + " idle TLS connection", ratio, "<= 64 KiB",
        agent / 1024 <= agent_limit_kib);
    return 0;
}

}  // namespace
}  // namespace scout::bench

int main(int argc, char** argv) {
    try {
        std::size_t agents = 5000;
        if (argc > 1) {
            const std::string_view text{argv[1]};
            const auto parsed = std::from_chars(text.data(), text.data() + text.size(), agents);
            if (parsed.ec != std::errc{} || agents < 100 || agents > 9000) {
                std::fprintf(stderr, "expected a number of agents from 100 to 9000\n");
                return 2;
            }
        }
        scout::wire::route_grpc_logs();
        scout::wire::spare_lock_checks();
        return scout::bench::measure(agents);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "agent_streams_bench: %s\n", error.what());
        return 1;
    }
}
