// SPDX-License-Identifier: Apache-2.0
#include "agent/config.h"

#include <utility>

#include "base/node_name.h"
#include "daemon/http_server.h"
#include "daemon/state_folder.h"
#include "migration/quantity.h"
#include "wire/unix_socket.h"

namespace scout::agent {
namespace {

using daemon::bool_setting;
using daemon::duration_setting;
using daemon::Faults;
using daemon::path_setting;
using daemon::SettingList;
using daemon::text_setting;
using namespace std::chrono_literals;

void check_node_name(const AgentConfig& config, Faults& faults) {
    if (!is_node_name(config.node_name)) {
        faults.push_back({"node-name", "expected " + std::string{node_name_rule} + ", found " +
                                           log_value(config.node_name)});
    }
}

void check_folder(const char* key, const std::filesystem::path& path, Faults& faults) {
    if (!path.is_absolute()) {
        faults.push_back({key, "expected an absolute path, found " + log_value(path.string())});
    }
}

void check_protection(const AgentConfig& config, Faults& faults) {
    const auto bandwidth = migration::Quantity::parse(config.migration_bandwidth);
    if (!bandwidth) {
        faults.push_back({"migration-bandwidth", bandwidth.error().message});
    } else if (bandwidth->is_zero()) {
        faults.push_back({"migration-bandwidth", "expected more than 0 bytes per second"});
    }
    if (config.hook_socket.empty()) {
        return;
    }
    check_folder("hook-socket", config.hook_socket, faults);
    if (const auto fits = wire::UnixSocketPlace::check_path(config.hook_socket.string()); !fits) {
        faults.push_back({"hook-socket", fits.error().message});
    }
    if (config.pods_dir.empty()) {
        faults.push_back({"hook-socket",
                          "expected also pods-dir: without launchers nobody knows which VM is "
                          "told to stop"});
    }
}

void check_kubelet(const AgentConfig& config, Faults& faults) {
    check_folder("cgroup-root", config.cgroup_root, faults);
    if (!config.kubelet_root.empty()) {
        check_folder("kubelet-root", config.kubelet_root, faults);
    }
    const std::pair<const char*, const std::filesystem::path*> parts[] = {
        {"kubelet-config", &config.kubelet_config},
        {"kubelet-config-dir", &config.kubelet_config_dir},
        {"images-dir", &config.images_dir},
        {"system-bus", &config.system_bus}};
    for (const auto& [key, path] : parts) {
        if (path->empty()) {
            continue;
        }
        check_folder(key, *path, faults);
        if (config.kubelet_root.empty()) {
            faults.push_back({key,
                              "expected also kubelet-root, without which no kubelet is looked "
                              "at"});
        }
    }
}

/// Why the token does not go that way. It tells who the agent is, and whoever has it can say the
/// same: it goes to a server that has proven itself, and to nobody on the way.
std::string token_fault(const AgentConfig& config, const wire::Endpoint& endpoint) {
    if (endpoint.is_unix()) {
        return "a token goes over TLS only, and a unix socket has none: leave token-file out, or "
               "set aggregator-address to host:port";
    }
    if (config.plaintext) {
        return "a token goes over TLS only, and plaintext is set: set tls-ca in its place, or "
               "leave token-file out";
    }
    if (!config.tls_cert.empty() || !config.tls_key.empty()) {
        return "expected one proof of who this agent is, found a token and a certificate: leave "
               "out token-file, or tls-cert and tls-key";
    }
    if (config.tls_ca.empty()) {
        return "expected also tls-ca, the CA that signed the aggregator's certificate: a token "
               "goes to a server that has proven itself";
    }
    return {};
}

void check_aggregator(const AgentConfig& config, Faults& faults) {
    if (config.aggregator_address.empty()) {
        return;
    }
    const auto endpoint = wire::parse_endpoint(config.aggregator_address);
    if (!endpoint) {
        faults.push_back({"aggregator-address", endpoint.error().message});
        return;
    }
    if (!config.token_file.empty()) {
        if (auto fault = token_fault(config, *endpoint); !fault.empty()) {
            faults.push_back({"token-file", std::move(fault)});
            return;
        }
    }
    if (const auto secured = wire::check_security(*endpoint, security_of(config)); !secured) {
        const bool ca_alone =
            !config.tls_ca.empty() && config.tls_cert.empty() && config.tls_key.empty();
        faults.push_back(
            {"aggregator-address", secured.error().message + (ca_alone ? ", or token-file" : "")});
    }
}

void check_listen(const char* key, const std::string& address, Faults& faults) {
    if (address.empty()) {
        return;
    }
    if (const auto parsed = daemon::parse_listen_address(address); !parsed) {
        faults.push_back({key, parsed.error().message});
    }
}

void add_node(SettingList& list, AgentConfig& config) {
    list.insert(
        list.end(),
        {
            text_setting("node-name", "name of this node in the fleet", config.node_name),
            text_setting("libvirt-uri", "libvirt that is asked what this host can run",
                         config.libvirt_uri),
            text_setting("guests-uri", "libvirt whose guests are watched; empty: libvirt-uri",
                         config.guests_uri),
            path_setting(
                "pods-dir",
                "the kubelet's folder of pods, whose VMs are watched; empty: no KubeVirt here",
                config.pods_dir),
            path_setting(
                "hook-socket",
                "socket at which virt-handler asks before it stops a VM, as the Plugin names "
                "it; needs pods-dir; empty: none",
                config.hook_socket),
            text_setting(
                "migration-bandwidth",
                "bytes per second that a live migration gets at best, where no policy limits "
                "it",
                config.migration_bandwidth),
            path_setting("state-dir", "where the agent keeps what must survive a restart",
                         config.state_dir),
            path_setting("labeller-dir", "KubeVirt's labeller files; the yardstick where they are",
                         config.labeller_dir),
            path_setting("host-root", "where the host's root is mounted", config.host_root),
        });
}

void add_kubelet(SettingList& list, AgentConfig& config) {
    list.insert(
        list.end(),
        {
            path_setting(
                "kubelet-root",
                "the kubelet's root folder, whose evictions are seen coming; empty: no kubelet",
                config.kubelet_root),
            path_setting("kubelet-config",
                         "the kubelet's --config; empty: config.yaml in kubelet-root",
                         config.kubelet_config),
            path_setting("kubelet-config-dir", "the kubelet's --config-dir; empty: none",
                         config.kubelet_config_dir),
            path_setting(
                "images-dir",
                "the container runtime's folder; empty: images are on the disk of kubelet-root",
                config.images_dir),
            path_setting("cgroup-root", "where the host's cgroups are mounted", config.cgroup_root),
            path_setting("system-bus",
                         "socket of the host's D-Bus, where logind tells of shutdowns; needs "
                         "kubelet-root; empty: the usual one in host-root",
                         config.system_bus),
        });
}

void add_aggregator(SettingList& list, AgentConfig& config) {
    list.insert(
        list.end(),
        {
            text_setting("aggregator-address",
                         "host:port or unix:/path that is reported to; empty: nobody",
                         config.aggregator_address),
            path_setting("tls-ca", "CA that signed the aggregator's certificate (PEM)",
                         config.tls_ca),
            path_setting("tls-cert", "certificate of this agent (PEM)", config.tls_cert),
            path_setting("tls-key", "its private key (PEM)", config.tls_key),
            text_setting("tls-server-name", "name in the aggregator's certificate, if not its host",
                         config.tls_server_name),
            path_setting("token-file",
                         "service-account token that tells who this agent is; needs tls-ca alone",
                         config.token_file),
            bool_setting("plaintext", "no TLS; only for a local aggregator", config.plaintext),
        });
}

void add_own(SettingList& list, AgentConfig& config) {
    list.insert(
        list.end(),
        {
            text_setting("listen-http", "address of health and metrics; empty: none",
                         config.listen_http),
            text_setting(
                "listen-https",
                "the same with TLS and a certificate that the aggregator's leader signs; needs "
                "token-file; empty: none",
                config.listen_https),
            duration_setting("probe-interval", "how often the hypervisor is asked again",
                             config.probe_interval, {1s, 24h}),
        });
}

}  // namespace

SettingList settings_of(AgentConfig& config) {
    SettingList list;
    add_node(list, config);
    add_kubelet(list, config);
    add_aggregator(list, config);
    add_own(list, config);
    daemon::add_log_settings(list, config.log);
    return list;
}

daemon::Faults validate(const AgentConfig& config) {
    Faults faults;
    check_node_name(config, faults);
    if (auto fault = daemon::state_folder_fault(config.state_dir); !fault.empty()) {
        faults.push_back({"state-dir", std::move(fault)});
    }
    check_folder("host-root", config.host_root, faults);
    if (!config.labeller_dir.empty()) {
        check_folder("labeller-dir", config.labeller_dir, faults);
    }
    if (!config.pods_dir.empty()) {
        check_folder("pods-dir", config.pods_dir, faults);
    }
    if (!config.pods_dir.empty() && !config.guests_uri.empty()) {
        faults.push_back({"pods-dir",
                          "expected one place where guests are watched, found guests-uri too: "
                          "leave one of them out"});
    }
    check_protection(config, faults);
    check_kubelet(config, faults);
    check_aggregator(config, faults);
    check_listen("listen-http", config.listen_http, faults);
    check_listen("listen-https", config.listen_https, faults);
    if (!config.listen_https.empty() &&
        (config.token_file.empty() || config.aggregator_address.empty())) {
        faults.push_back({"listen-https",
                          "expected also aggregator-address and token-file: only the aggregator of "
                          "a cluster, to which a "
                          "token tells who this agent is, signs certificates"});
    }
    return faults;
}

std::optional<PressureConfig> pressure_of(const AgentConfig& config) {
    if (config.kubelet_root.empty()) {
        return std::nullopt;
    }
    const bool named = !config.kubelet_config.empty();
    return PressureConfig{
        .roots = {.proc = config.host_root / "proc",
                  .cgroups = config.cgroup_root,
                  .kubelet = config.kubelet_root,
                  .images = config.images_dir},
        .pods = config.pods_dir,
        .kubelet = {.file = named ? config.kubelet_config : config.kubelet_root / "config.yaml",
                    .file_must_be = named,
                    .folder = config.kubelet_config_dir}};
}

std::filesystem::path system_bus_of(const AgentConfig& config) {
    return config.system_bus.empty() ? config.host_root / "run/dbus/system_bus_socket"
                                     : config.system_bus;
}

wire::Security security_of(const AgentConfig& config) {
    wire::TlsFiles files{
        .ca = config.tls_ca, .certificate = config.tls_cert, .key = config.tls_key};
    if (!config.token_file.empty()) {
        files.side = wire::TlsSide::client;
    }
    return {.tls = wire::tls_files(std::move(files)),
            .plaintext = config.plaintext,
            .server_name = config.tls_server_name};
}

}  // namespace scout::agent
