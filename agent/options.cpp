// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include "migration/quantity.h"

namespace scout::agent {

AgentOptions options_of(const AgentConfig& config, std::uint64_t seed) {
    const auto bandwidth = migration::Quantity::parse(config.migration_bandwidth);
    return {
        .node_name = config.node_name,
        .listen_http = config.listen_http,
        .listen_https = config.listen_https,
        .prober = {.host_root = config.host_root,
                   .state_dir = config.state_dir,
                   .labeller_dir = config.labeller_dir,
                   .interval = config.probe_interval},
        .guests_from = config.pods_dir.empty() ? "libvirt" : "folder " + config.pods_dir.string(),
        .report = {},
        .hook_socket = config.hook_socket.string(),
        .assumed = {.bandwidth = bandwidth ? bandwidth->rounded_up() : 0},
        .pressure = pressure_of(config),
        .system_bus = system_bus_of(config),
        .seed = seed};
}

}  // namespace scout::agent
