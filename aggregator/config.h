// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/logging.h"
#include "daemon/settings.h"
#include "kube/find_access.h"
#include "migration/verdict.h"
#include "wire/endpoint.h"

namespace scout::aggregator {

/// Everything that the aggregator can be told; each member is a key of aggregator.yaml and a flag.
struct Config {
    bool standalone = false;
    bool cluster = false;
    std::filesystem::path kubeconfig;    ///< empty: as kubectl looks for it, then the pod's account
    std::string context;                 ///< empty: the kubeconfig's current one
    std::string cluster_namespace;       ///< of the Lease; empty: the access's own
    std::string level_labels = "stock";  ///< layer that nodes' level labels show
    kube::AccessPlaces access_places;    ///< of the environment; no setting

    std::string listen_grpc = "127.0.0.1:9286";                              ///< agents and queries
    std::filesystem::path query_socket = "/run/virt-scout/aggregator.sock";  ///< empty: none
    std::string listen_http = "127.0.0.1:8080";
    std::string listen_https;              ///< of the API server's questions; empty: none
    std::vector<std::string> https_names;  ///< of the serving certificate, further ones
    std::filesystem::path tls_ca;
    std::filesystem::path tls_cert;
    std::filesystem::path tls_key;
    bool plaintext = false;

    std::vector<std::string> documents;  ///< files or folders, source `file`
    std::filesystem::path sample_documents;
    std::filesystem::path cpu_map;  ///< looked at before the installed one
    std::string machine_type;

    std::filesystem::path state_dir = "/var/lib/virt-scout";
    std::filesystem::path snapshot_file = "aggregator.snapshot";  ///< in state_dir; empty: none
    std::chrono::milliseconds snapshot_every = std::chrono::seconds{30};

    std::chrono::milliseconds stale_after = std::chrono::seconds{35};
    std::chrono::milliseconds gone_after = std::chrono::hours{24};
    std::chrono::milliseconds forget_after = std::chrono::hours{7 * 24};

    LogConfig log;

    /// Where the snapshot lies; nothing if there is to be none.
    [[nodiscard]] std::optional<std::filesystem::path> snapshot_path() const;
    /// Of level_labels, which its setting has checked.
    [[nodiscard]] migration::Layer level_layer() const;
    /// Agents of a cluster prove by tokens who they are, unless an authority of their certificates,
    /// plaintext or a unix socket is asked for.
    [[nodiscard]] bool takes_tokens() const;
    /// Of our certificate, where agents show tokens: what is made for the cluster lies there too.
    [[nodiscard]] std::filesystem::path serving_folder() const { return state_dir / "serving"; }
    /// For listen_grpc.
    [[nodiscard]] wire::Security security() const;
};

/// Keys bound to the members of `config`, which must outlive the list.
[[nodiscard]] daemon::SettingList settings(Config& config);

/// Everything that is wrong with the configuration as a whole. Looks whether files and folders are
/// there. Blocking.
[[nodiscard]] daemon::Faults validate(const Config& config);

}  // namespace scout::aggregator
