// SPDX-License-Identifier: Apache-2.0
// A fleet whose agents all come back to a restarted aggregator at once: its CPU until each of them
// is welcome and what it told is known, and whether answers change meanwhile. Peer: as many TLS
// connections to the same program on which nothing is asked.
//
// usage: returning_agents_bench [AGENTS]
#include <charconv>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "aggregator/fleet.h"
#include "aggregator/snapshot_messages.h"
#include "base/files.h"
#include "bench/agent_streams/agent.h"
#include "bench/agent_streams/child_aggregator.h"
#include "bench/agent_streams/known_fleet.h"
#include "bench/agent_streams/profiles.h"
#include "bench/report.h"
#include "daemon/open_files.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/certificates.h"
#include "virt_scout/v1/fleet.grpc.pb.h"
#include "wire/grpc_logs.h"

namespace scout::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Channels = std::vector<std::shared_ptr<grpc::Channel>>;
namespace v1 = virt_scout::v1;

constexpr std::size_t classes = 40;
constexpr std::size_t handshakes = 500;
constexpr double cpu_limit = 15;
constexpr auto patience = 300s;

/// What users are answered.
class Questions {
public:
    explicit Questions(const ChildAggregator& child) {
        grpc::ChannelArguments arguments;
        arguments.SetMaxReceiveMessageSize(-1);
        stub_ = v1::Fleet::NewStub(grpc::CreateCustomChannel(
            child.query_address(), grpc::InsecureChannelCredentials(), arguments));
    }

    /// Where guests can go, of all nodes.
    [[nodiscard]] std::string matrix() const {
        grpc::ClientContext context;
        v1::MatrixResponse answer;
        prepare(context);
        check(stub_->Matrix(&context, {}, &answer));
        return answer.SerializeAsString();
    }
    /// Whose agents have told something since.
    [[nodiscard]] std::size_t heard_since(Clock::time_point since) const {
        grpc::ClientContext context;
        v1::NodesResponse answer;
        prepare(context);
        check(stub_->Nodes(&context, {}, &answer));
        const auto passed =
            std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since).count();
        std::size_t heard = 0;
        for (const auto& node : answer.nodes()) {
            const auto age = static_cast<std::int64_t>(node.age_ms());
            heard += node.freshness() == v1::FRESH && age < passed ? 1U : 0U;
        }
        return heard;
    }

private:
    static void prepare(grpc::ClientContext& context) {
        context.set_wait_for_ready(true);
        context.set_deadline(std::chrono::system_clock::now() + patience);
    }
    static void check(const grpc::Status& status) {
        if (!status.ok()) {
            throw std::runtime_error("the aggregator did not answer: " + status.error_message());
        }
    }

    std::unique_ptr<v1::Fleet::Stub> stub_;
};

struct Return {
    double cpu = 0;  ///< seconds of the aggregator
    bool flapped = false;
};

Channels open_all(const ChildAggregator& child, std::size_t count) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    Channels channels;
    channels.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        channels.push_back(grpc::CreateCustomChannel(
            child.address(), grpc::InsecureChannelCredentials(), arguments));
    }
    return channels;
}

void check(const Progress& progress, Clock::time_point since) {
    if (progress.failed > 0 || Clock::now() - since > patience) {
        throw std::runtime_error("agents could not report: " + std::to_string(progress.reported) +
                                 " have");
    }
}

Return measure_return(const std::filesystem::path& folder,
                      const std::vector<migration::Profile>& profiles, std::size_t count) {
    const ChildAggregator child(folder, Way::unix_socket);
    const Questions questions(child);
    const auto before = questions.matrix();
    const auto channels = open_all(child, count);
    Progress progress;
    std::deque<Agent> agents;
    const auto since = Clock::now();
    const auto idle = child.cpu_seconds();
    for (std::size_t i = 0; i < count; ++i) {
        agents.emplace_back(
            channels[i], node_name(i),
            [&profiles, i] {
                return make_report(profiles[i % profiles.size()], i, guests_of_a_node);
            },
            progress);
    }
    Return found;
    while (progress.welcomed < count || progress.reported < count ||
           questions.heard_since(since) < count) {
        check(progress, since);
        found.flapped |= questions.matrix() != before;
        std::this_thread::sleep_for(1s);
    }
    found.cpu = child.cpu_seconds() - idle;
    found.flapped |= questions.matrix() != before;
    for (auto& agent : agents) {
        agent.end();
    }
    return found;
}

/// Of the aggregator, for each.
double measure_handshakes(const test::Authority& authority, const std::filesystem::path& folder) {
    const ChildAggregator child(folder);
    static_cast<void>(Questions(child).matrix());
    Channels channels;
    const auto idle = child.cpu_seconds();
    for (std::size_t i = 0; i < handshakes; ++i) {
        channels.push_back(open_channel(authority, child.address(), node_name(i)));
        if (!channels.back()->WaitForConnected(std::chrono::system_clock::now() + patience)) {
            throw std::runtime_error("no connection to the aggregator");
        }
    }
    return (child.cpu_seconds() - idle) / static_cast<double>(handshakes);
}

void measure(std::size_t agents) {
    const test::TemporaryFolder folder;
    const test::Authority authority{"bench authority"};
    authority.issue(folder.path() / "server", "127.0.0.1", "localhost");
    const auto profiles = make_profiles(classes);
    {
        const SystemClock clock;
        aggregator::Fleet fleet{{}, "", std::nullopt, clock};
        fill(fleet, profiles, agents);
        const auto snapshot =
            aggregator::encode_snapshot(fleet.registry(), clock.wall(), clock.steady());
        if (!write_file_atomically(folder.path() / "aggregator.snapshot", snapshot)) {
            throw std::runtime_error("the snapshot could not be written");
        }
    }
    const auto tls = measure_handshakes(authority, folder.path()) * static_cast<double>(agents);
    const auto found = measure_return(folder.path(), profiles, agents);
    const auto all = found.cpu + tls;
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.2f", all / tls);
    row(std::to_string(agents) + " agents report at once, CPU", duration(all),
        duration(tls) + " their TLS handshakes alone", ratio, "< 15 s", all < cpu_limit);
    row("where guests can go, meanwhile", found.flapped ? "changed" : "as before", "", "",
        "as before", !found.flapped);
}

}  // namespace
}  // namespace scout::bench

int main(int argc, char** argv) {
    try {
        std::size_t agents = 10'000;
        if (argc > 1) {
            const std::string_view text{argv[1]};
            const auto parsed = std::from_chars(text.data(), text.data() + text.size(), agents);
            if (parsed.ec != std::errc{} || agents < 100 || agents > 10'000) {
                std::fprintf(stderr, "expected a number of agents from 100 to 10000\n");
                return 2;
            }
        }
        scout::wire::route_grpc_logs();
        scout::wire::spare_lock_checks();
        scout::daemon::raise_open_files_limit();
        scout::bench::measure(agents);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "returning_agents_bench: %s\n", error.what());
        return 1;
    }
}
