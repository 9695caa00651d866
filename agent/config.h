// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "agent/host_identity.h"
#include "agent/pressure_watch.h"
#include "base/logging.h"
#include "daemon/settings.h"
#include "wire/endpoint.h"

namespace scout::agent {

/// What the agent is told, before anything is made of it. Defaults suit a plain libvirt host.
struct AgentConfig {
    std::string node_name = host_name();
    std::string libvirt_uri = "qemu:///embed";
    std::string guests_uri;  ///< empty: as libvirt_uri; the embedded driver has no guests
    /// The kubelet's folder of pods, whose launchers' guests are watched; empty: no launchers.
    std::filesystem::path pods_dir;
    /// Where virt-handler asks before it stops a VM; empty: it is not answered. Needs pods_dir.
    std::filesystem::path hook_socket;
    std::string migration_bandwidth = "1250M";  ///< bytes per second, as a quantity
    std::filesystem::path state_dir = "/var/lib/virt-scout";
    std::filesystem::path labeller_dir = "/var/lib/kubevirt-node-labeller";
    std::filesystem::path host_root = "/";
    std::filesystem::path kubelet_root;        ///< empty: no kubelet whose evictions are expected
    std::filesystem::path kubelet_config;      ///< empty: config.yaml there, if it is
    std::filesystem::path kubelet_config_dir;  ///< of drop-ins; empty: none
    std::filesystem::path images_dir;  ///< of the container runtime; empty: on the kubelet's disk
    std::filesystem::path cgroup_root = "/sys/fs/cgroup";
    std::filesystem::path system_bus;  ///< its socket; empty: the usual one below host_root
    std::string aggregator_address;    ///< empty: reports to nobody
    std::filesystem::path tls_ca;
    std::filesystem::path tls_cert;
    std::filesystem::path tls_key;
    std::string tls_server_name;
    std::filesystem::path token_file;  ///< tells who this agent is; empty: its certificate does
    bool plaintext = false;
    std::string listen_http = "127.0.0.1:9291";  ///< empty: none
    std::string listen_https;                    ///< empty: none; needs token_file
    std::chrono::milliseconds probe_interval = std::chrono::minutes{10};
    LogConfig log;
};

/// The keys of file and flags, bound to the config; it must outlive the list.
[[nodiscard]] daemon::SettingList settings_of(AgentConfig& config);

/// Every fault of the config as a whole, but for the URIs, which the adapter judges. Looks whether
/// files could be kept in state-dir. Blocking.
[[nodiscard]] daemon::Faults validate(const AgentConfig& config);

/// Where the node's pressure is read; none without a kubelet.
[[nodiscard]] std::optional<PressureConfig> pressure_of(const AgentConfig& config);

/// The socket of the node's system bus.
[[nodiscard]] std::filesystem::path system_bus_of(const AgentConfig& config);

/// How the connection to the aggregator is secured.
[[nodiscard]] wire::Security security_of(const AgentConfig& config);

}  // namespace scout::agent
