// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <random>

#include <boost/asio/io_context.hpp>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/options.h"
#include "agent/report_stream.h"
#include "base/clock.h"
#include "base/offload.h"
#include "daemon/command_line.h"
#include "daemon/run.h"
#include "daemon/state_folder.h"
#include "launcher/launcher_guests.h"
#include "libvirt_glue/libvirt_hypervisor.h"
#include "libvirt_glue/probe_child.h"
#include "wire/grpc_logs.h"

namespace scout {
namespace {

constexpr std::size_t pool_threads = 4;

const daemon::Program program{
    .name = "virt-scout-agent",
    .summary = "Tells what this host's hypervisor can run, and reports it to an aggregator.",
    .examples =
        "  virt-scout-agent --aggregator-address 127.0.0.1:9286 --plaintext\n"
        "  virt-scout-agent --libvirt-uri qemu:///system --aggregator-address \\\n"
        "      scout.example:9286 --tls-ca ca.pem --tls-cert node.pem --tls-key node.key\n"
        "  virt-scout-agent --config agent.yaml --check-config",
    .default_config = "/etc/virt-scout/agent.yaml"};

libvirt_glue::LibvirtConfig libvirt_config(const agent::AgentConfig& config,
                                           const std::string& uri) {
    libvirt_glue::LibvirtConfig made;
    made.uri = uri;
    made.embed_root = config.state_dir / "embed";
    return made;
}

daemon::Faults validate_all(agent::AgentConfig& config) {
    auto faults = agent::validate(config);
    const auto judge = [&config, &faults](const char* key, const std::string& uri) {
        for (const auto& fault : libvirt_glue::validate(libvirt_config(config, uri))) {
            faults.push_back({key, fault});
        }
    };
    judge("libvirt-uri", config.libvirt_uri);
    if (!config.guests_uri.empty()) {
        judge("guests-uri", config.guests_uri);
    }
    return faults;
}

/// Whose guests are watched, if not those of the libvirt that is probed.
struct Watched {
    std::unique_ptr<hypervisor::Hypervisor> hypervisor;
    launcher::Launchers* launchers = nullptr;  ///< the same object, where it follows launchers
};

Watched make_watched(const agent::AgentConfig& config, const asio::any_io_executor& loop,
                     BlockingPool& pool, const Clock& clock) {
    if (!config.pods_dir.empty()) {
        auto made = std::make_unique<launcher::LauncherGuests>(
            launcher::LauncherConfig{.pods_dir = config.pods_dir}, loop, pool, clock);
        auto* const launchers = made.get();
        return {.hypervisor = std::move(made), .launchers = launchers};
    }
    if (config.guests_uri.empty() || config.guests_uri == config.libvirt_uri) {
        return {};
    }
    return {.hypervisor = libvirt_glue::make_hypervisor(libvirt_config(config, config.guests_uri),
                                                        loop, pool, clock)};
}

int serve(const agent::AgentConfig& config) {
    const SystemClock clock;
    asio::io_context loop{1};
    BlockingPool pool(pool_threads);
    const auto executor = loop.get_executor();
    const auto probed = libvirt_glue::make_hypervisor(libvirt_config(config, config.libvirt_uri),
                                                      executor, pool, clock);
    const auto watched = make_watched(config, executor, pool, clock);
    std::unique_ptr<agent::AggregatorLink> link;
    if (!config.aggregator_address.empty()) {
        auto endpoint = wire::parse_endpoint(config.aggregator_address).value();
        link = agent::make_grpc_link(executor, std::move(endpoint), agent::security_of(config),
                                     config.token_file);
    }
    agent::Agent service(agent::options_of(config, std::random_device{}()),
                         {.loop = executor,
                          .clock = clock,
                          .pool = pool,
                          .probed = *probed,
                          .watched = watched.hypervisor ? *watched.hypervisor : *probed,
                          .link = link.get(),
                          .launchers = watched.launchers});
    return daemon::run_service(loop, {&pool}, service, {.name = program.name});
}

int run(int argc, const char* const* argv) {
    agent::AgentConfig config;
    const auto settings = agent::settings_of(config);
    const auto code = daemon::configure(
        program, daemon::arguments_of(argc, argv), settings,
        [&config] { return validate_all(config); }, std::cout, std::cerr);
    if (code) {
        return *code;
    }
    if (const auto logging = set_up_logging(config.log); !logging) {
        std::cerr << program.name << ": " << logging.error().message << '\n';
        return daemon::exit_bad_config;
    }
    if (const auto made = daemon::make_state_folder(config.state_dir); !made) {
        std::cerr << program.name << ": state-dir: " << made.error().message << '\n';
        return daemon::exit_bad_config;
    }
    wire::route_grpc_logs();
    return serve(config);
}

}  // namespace
}  // namespace scout

int main(int argc, char** argv) {
    try {
        if (scout::libvirt_glue::is_probe_child(argc, argv)) {
            return scout::libvirt_glue::probe_child_main(argc, argv);
        }
        return scout::run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "virt-scout-agent: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
