// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <boost/asio/io_context.hpp>
#include <malloc.h>

#include "aggregator/aggregator.h"
#include "aggregator/config.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/offload.h"
#include "daemon/command_line.h"
#include "daemon/open_files.h"
#include "daemon/run.h"
#include "daemon/state_folder.h"
#include "wire/grpc_logs.h"

namespace scout::aggregator {
namespace {

const daemon::Program program{
    .name = "virt-scout-aggregator",
    .summary = "Collects what the agents report of their hosts and answers where guests can go.",
    .examples =
        "  virt-scout-aggregator --standalone --plaintext --query-socket= --snapshot-file=\n"
        "  virt-scout-aggregator --standalone --listen-grpc 0.0.0.0:9286 \\\n"
        "      --tls-ca ca.pem --tls-cert aggregator.pem --tls-key aggregator.key\n"
        "  virt-scout-aggregator --cluster --kubeconfig ~/.kube/config --cluster-namespace "
        "virt-scout \\\n"
        "      --plaintext --query-socket= --snapshot-file=\n"
        "  virt-scout-aggregator --config /etc/virt-scout/aggregator.yaml --check-config\n",
    .default_config = "/etc/virt-scout/aggregator.yaml"};

/// gRPC's threads each fill an arena of their own otherwise, and what a handshake leaves there
/// serves no other connection: 10 KiB for each agent (bench/agent_streams).
constexpr int allocation_arenas = 1;

constexpr std::size_t pool_threads = 2;
/// What users ask takes seconds in a large cluster, and agents' certificates wait for nobody.
constexpr std::size_t answer_threads = 2;

int run(int argc, const char* const* argv) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before its threads
    static_cast<void>(::mallopt(M_ARENA_MAX, allocation_arenas));
    Config config;
    config.access_places = kube::places_of_environment();
    const auto list = settings(config);
    const auto ended = daemon::configure(
        program, daemon::arguments_of(argc, argv), list, [&config] { return validate(config); },
        std::cout, std::cerr);
    if (ended) {
        return *ended;
    }
    if (auto logging = set_up_logging(config.log); !logging) {
        std::cerr << program.name << ": " << logging.error().message << '\n';
        return daemon::exit_bad_config;
    }
    if (config.snapshot_path() || config.takes_tokens()) {
        if (const auto made = daemon::make_state_folder(config.state_dir); !made) {
            std::cerr << program.name << ": state-dir: " << made.error().message << '\n';
            return daemon::exit_bad_config;
        }
    }
    wire::route_grpc_logs();
    wire::spare_lock_checks();
    daemon::raise_open_files_limit();
    const SystemClock clock;
    asio::io_context loop{1};
    BlockingPool pool(pool_threads);
    BlockingPool answers(answer_threads);
    Aggregator aggregator(loop, {.work = pool, .answers = answers}, std::move(config), clock);
    return daemon::run_service(loop, {&pool, &answers}, aggregator, {.name = program.name});
}

}  // namespace
}  // namespace scout::aggregator

int main(int argc, char** argv) {
    try {
        return scout::aggregator::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "virt-scout-aggregator: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
