// SPDX-License-Identifier: Apache-2.0
#include "aggregator/config.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/heartbeat.h"
#include "daemon/http_server.h"
#include "daemon/state_folder.h"
#include "wire/unix_socket.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

/// What snapshots that are set aside, and temporary files, have at the end still fits (NAME_MAX).
constexpr std::size_t longest_file_name = 200;
/// As of a label's name, which a machine type becomes (dossier §5.2).
constexpr std::size_t longest_machine_type = 63;

void add_modes(daemon::SettingList& list, Config& config) {
    list.push_back(
        daemon::bool_setting("standalone", "serve a fleet without a cluster", config.standalone));
    list.push_back(daemon::bool_setting(
        "cluster", "follow a cluster, and as its leader keep the level labels of its nodes",
        config.cluster));
    list.push_back(daemon::path_setting(
        "kubeconfig",
        "how to reach the cluster; empty: KUBECONFIG, ~/.kube/config, the account of this pod",
        config.kubeconfig));
    list.push_back(daemon::text_setting("context", "of the kubeconfig; empty: its current one",
                                        config.context));
    list.push_back(daemon::text_setting(
        "cluster-namespace", "where the Lease lies; empty: the context's or the pod's own",
        config.cluster_namespace));
    list.push_back(daemon::choice_setting(
        "level-labels",
        "layer that nodes' level labels show: stock is what KubeVirt will allow, truth what the "
        "hypervisors can do as well",
        config.level_labels, {"stock", "truth"}));
}

void add_places(daemon::SettingList& list, Config& config) {
    list.push_back(daemon::text_setting(
        "listen-grpc", "where agents report and users ask: host:port, or unix:/path",
        config.listen_grpc));
    list.push_back(daemon::path_setting(
        "query-socket", "unix socket for questions, mode 0660; empty: none", config.query_socket));
    list.push_back(daemon::text_setting("listen-http", "health and metrics: address:port",
                                        config.listen_http));
    list.push_back(daemon::text_setting(
        "listen-https",
        "in a cluster: where the API server asks about new pods, address:port; empty: nowhere",
        config.listen_https));
    list.push_back(daemon::list_setting(
        "https-names",
        "in a cluster: further names and addresses of the certificate there, for a webhook by URL",
        config.https_names));
    list.push_back(daemon::path_setting(
        "tls-ca", "PEM file of the authority that agents' certificates come from", config.tls_ca));
    list.push_back(
        daemon::path_setting("tls-cert", "PEM file of our certificate chain", config.tls_cert));
    list.push_back(daemon::path_setting("tls-key", "PEM file of its key", config.tls_key));
    list.push_back(daemon::bool_setting(
        "plaintext", "no TLS on listen-grpc; refused unless that address is local",
        config.plaintext));
}

void add_knowledge(daemon::SettingList& list, Config& config) {
    list.push_back(daemon::list_setting(
        "documents",
        "files of domain capabilities, labeller folders, or folders of both: each is one more node",
        config.documents));
    list.push_back(daemon::path_setting("sample-documents",
                                        "the same, for nodes that are marked as samples",
                                        config.sample_documents));
    list.push_back(daemon::path_setting(
        "cpu-map", "folder of a libvirt cpu_map, looked at before the installed one",
        config.cpu_map));
    list.push_back(daemon::text_setting(
        "machine-type", "machine type that the matrix asks of every target; empty: not judged",
        config.machine_type));
}

void add_times(daemon::SettingList& list, Config& config) {
    list.push_back(
        daemon::path_setting("state-dir", "folder for what survives a restart", config.state_dir));
    list.push_back(daemon::path_setting(
        "snapshot-file", "snapshot of the fleet, in state-dir; empty: none", config.snapshot_file));
    list.push_back(daemon::duration_setting("snapshot-every", "least time between two snapshots",
                                            config.snapshot_every, {.least = 1s, .most = 1h}));
    list.push_back(daemon::duration_setting(
        "stale-after", "a node not heard of for so long is stale; heartbeats come every 10s",
        config.stale_after, {.least = agent_silence_limit, .most = 24h}));
    list.push_back(daemon::duration_setting(
        "gone-after", "a node not heard of for so long is gone: no answer counts on it",
        config.gone_after, {.least = 1s, .most = 24h * 365}));
    list.push_back(daemon::duration_setting("forget-after",
                                            "a node not heard of for so long is forgotten",
                                            config.forget_after, {.least = 1s, .most = 24h * 365}));
}

/// Why a server cannot be told to listen there.
Status check_listen(const std::string& text, const wire::Security& security) {
    const auto endpoint = wire::parse_endpoint(text);
    if (!endpoint) {
        return fail(endpoint.error());
    }
    if (endpoint->is_unix()) {
        if (auto fits = wire::UnixSocketPlace::check_path(endpoint->unix_path); !fits) {
            return fits;
        }
    }
    return wire::check_security(*endpoint, security);
}

void check_https(const Config& config, daemon::Faults& faults) {
    if (config.listen_https.empty()) {
        return;
    }
    if (!config.cluster) {
        faults.push_back({"listen-https",
                          "expected nothing without cluster, for only its API "
                          "server asks there, found " +
                              log_value(config.listen_https)});
    } else if (auto https = daemon::parse_listen_address(config.listen_https); !https) {
        faults.push_back({"listen-https", std::move(https.error().message)});
    }
}

void check_places(const Config& config, daemon::Faults& faults) {
    if (auto grpc = check_listen(config.listen_grpc, config.security()); !grpc) {
        faults.push_back({"listen-grpc", std::move(grpc.error().message)});
    }
    if (!config.query_socket.empty()) {
        const auto socket = "unix:" + config.query_socket.string();
        if (auto query = check_listen(socket, {}); !query) {
            faults.push_back({"query-socket", std::move(query.error().message)});
        }
    }
    if (auto http = daemon::parse_listen_address(config.listen_http); !http) {
        faults.push_back({"listen-http", std::move(http.error().message)});
    }
    check_https(config, faults);
}

void check_state(const Config& config, daemon::Faults& faults) {
    if (!config.snapshot_file.empty() || config.takes_tokens()) {
        if (auto fault = daemon::state_folder_fault(config.state_dir); !fault.empty()) {
            faults.push_back({"state-dir", std::move(fault)});
        }
    }
    const auto name = config.snapshot_file.string();
    if (name.find('/') != std::string::npos || name == "." || name == "..") {
        faults.push_back({"snapshot-file", "expected the name of a file in state-dir, found " +
                                               log_value(name) +
                                               ": name its folder with state-dir"});
    } else if (name.size() > longest_file_name) {
        faults.push_back({"snapshot-file", "expected at most " + std::to_string(longest_file_name) +
                                               " bytes, found " + std::to_string(name.size())});
    }
}

void check_is_there(const char* key, const std::filesystem::path& path, bool folder,
                    daemon::Faults& faults) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status) || (folder && !std::filesystem::is_directory(status))) {
        faults.push_back(
            {key, std::string{folder ? "expected a folder" : "expected a file or folder"} +
                      ", found " +
                      (std::filesystem::exists(status) ? "something else" : "nothing") + " at " +
                      log_value(path.string())});
    }
}

void check_knowledge(const Config& config, daemon::Faults& faults) {
    for (const auto& path : config.documents) {
        check_is_there("documents", path, false, faults);
    }
    if (!config.sample_documents.empty()) {
        check_is_there("sample-documents", config.sample_documents, false, faults);
    }
    if (!config.cpu_map.empty()) {
        check_is_there("cpu-map", config.cpu_map, true, faults);
    }
    const auto& machine = config.machine_type;
    const bool plain = std::all_of(machine.begin(), machine.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    });
    if (!plain || machine.size() > longest_machine_type) {
        faults.push_back({"machine-type", "expected at most " +
                                              std::to_string(longest_machine_type) +
                                              " letters, digits, '.', '-' and '_' such as 'q35', "
                                              "found " +
                                              log_value(machine.substr(0, longest_machine_type))});
    }
}

void check_times(const Config& config, daemon::Faults& faults) {
    if (config.gone_after <= config.stale_after) {
        faults.push_back({"gone-after", "expected more than stale-after (" +
                                            daemon::format_duration(config.stale_after) +
                                            "), found " +
                                            daemon::format_duration(config.gone_after)});
    }
    if (config.forget_after < config.gone_after) {
        faults.push_back({"forget-after", "expected at least gone-after (" +
                                              daemon::format_duration(config.gone_after) +
                                              "), found " +
                                              daemon::format_duration(config.forget_after)});
    }
}

}  // namespace

std::optional<std::filesystem::path> Config::snapshot_path() const {
    if (snapshot_file.empty()) {
        return std::nullopt;
    }
    return state_dir / snapshot_file;
}

migration::Layer Config::level_layer() const {
    return migration::layer_named(level_labels).value_or(migration::Layer::stock);
}

bool Config::takes_tokens() const {
    const auto endpoint = wire::parse_endpoint(listen_grpc);
    const bool local = endpoint && endpoint->is_unix();
    return cluster && !local && !plaintext && tls_ca.empty();
}

wire::Security Config::security() const {
    if (takes_tokens()) {
        const bool given = !tls_cert.empty() || !tls_key.empty();
        wire::TlsFiles own{.certificate = given ? tls_cert : serving_folder() / "tls.crt",
                           .key = given ? tls_key : serving_folder() / "tls.key",
                           .side = wire::TlsSide::server};
        return {.tls = std::move(own), .plaintext = false, .server_name = {}};
    }
    return {.tls = wire::tls_files({.ca = tls_ca, .certificate = tls_cert, .key = tls_key}),
            .plaintext = plaintext,
            .server_name = {}};
}

daemon::SettingList settings(Config& config) {
    daemon::SettingList list;
    add_modes(list, config);
    add_places(list, config);
    add_knowledge(list, config);
    add_times(list, config);
    daemon::add_log_settings(list, config.log);
    return list;
}

daemon::Faults validate(const Config& config) {
    daemon::Faults faults;
    if (config.standalone == config.cluster) {
        faults.push_back(
            {"standalone", std::string{"expected either this (flag --standalone, a fleet without a "
                                       "cluster) or cluster (flag --cluster), found "} +
                               (config.cluster ? "both" : "none")});
    }
    check_places(config, faults);
    check_knowledge(config, faults);
    check_state(config, faults);
    check_times(config, faults);
    return faults;
}

}  // namespace scout::aggregator
