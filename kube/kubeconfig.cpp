// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/logging.h"
#include "kube/kubeconfig_entry.h"
#include "kube/kubeconfig_user.h"

namespace scout::kube {
namespace {

struct Place {
    std::filesystem::path file;
    YAML::Node node;
};
using Places = std::map<std::string, Place, std::less<>>;

/// All files as one.
struct Merged {
    std::string current_context;
    Places clusters;
    Places users;
    Places contexts;
};

std::optional<YAML::Node> load(const KubeconfigFile& file, FaultList& faults) {
    std::string what;
    try {
        if (file.text.size() <= kubeconfig_limit) {
            auto root = YAML::Load(file.text);
            if (root.IsMap() || root.IsNull()) {
                return root;
            }
            what = "expected a kubeconfig, found a plain value or list";
        } else {
            what = "expected at most " + std::to_string(kubeconfig_limit) + " bytes, found " +
                   std::to_string(file.text.size());
        }
    } catch (const YAML::Exception& error) {
        what = "not YAML, line " + std::to_string(error.mark.line + 1) + ": " + error.msg;
    }
    faults.add(file.path.string() + ": " + what);
    return std::nullopt;
}

/// Reads a list of {name: …, <kind>: {…}}; what an earlier file has stays as it is. The inside of
/// an entry is looked at when it is chosen.
void merge_list(const KubeconfigEntry& root, const KubeconfigFile& file, const std::string& kind,
                Places& into) {
    std::set<std::string, std::less<>> seen;
    for (const auto& entry : root.parts(kind + "s")) {
        const auto name = entry.text("name");
        if (name.empty()) {
            entry.fault("name", "expected the name of the " + kind + ", found nothing");
        } else if (!seen.insert(name).second) {
            entry.fault("name", log_value(name) + " is given twice");
        } else {
            into.emplace(name, Place{.file = file.path, .node = entry.node(kind)});
        }
    }
}

Merged merge(const std::vector<KubeconfigFile>& files, FaultList& faults) {
    Merged merged;
    for (const auto& file : files) {
        const auto node = load(file, faults);
        if (!node) {
            continue;
        }
        const KubeconfigEntry root(file.path, "kubeconfig", *node, faults);
        if (const auto kind = root.text("kind"); !kind.empty() && kind != "Config") {
            root.fault("kind", "expected Config, found " + log_value(kind));
            continue;
        }
        if (merged.current_context.empty()) {
            merged.current_context = root.text("current-context");
        }
        merge_list(root, file, "cluster", merged.clusters);
        merge_list(root, file, "user", merged.users);
        merge_list(root, file, "context", merged.contexts);
    }
    return merged;
}

std::string known(const Places& places) {
    constexpr std::size_t most_names = 20;
    std::string names;
    std::size_t count = 0;
    for (const auto& [name, place] : places) {
        if (++count <= most_names) {
            names += (names.empty() ? "" : ", ") + log_value(name);
        }
    }
    return names.empty() ? "there is none" : "known: " + names + (count > most_names ? ", …" : "");
}

std::optional<KubeconfigEntry> find(const Places& places, const std::string& kind,
                                    const std::string& name, FaultList& faults) {
    const auto found = places.find(name);
    if (found == places.end()) {
        return std::nullopt;
    }
    return KubeconfigEntry(found->second.file, kind + " " + log_value(name), found->second.node,
                           faults);
}

/// PEM text in one key or a file in another; both are a contradiction.
PemSource read_pem(const KubeconfigEntry& entry, const std::string& key) {
    const auto data = key + "-data";
    if (entry.has(key) && entry.has(data)) {
        entry.fault(key, "expected this or " + data + ", found both");
        return {};
    }
    return {.text = entry.base64(data), .file = entry.readable(key)};
}

void read_cluster(const KubeconfigEntry& cluster, bool allow_insecure, ClusterAccess& access) {
    access.insecure = cluster.flag("insecure-skip-tls-verify");
    if (access.insecure && !allow_insecure) {
        cluster.fault("insecure-skip-tls-verify",
                      "the server's certificate would not be checked; give certificate-authority "
                      "instead, or ask for it by a flag as well");
    }
    auto server = parse_server_url(cluster.text("server"), access.insecure && allow_insecure);
    if (server) {
        access.server = *std::move(server);
    } else {
        cluster.fault("server", server.error().message);
    }
    access.tls_server_name = cluster.text("tls-server-name");
    access.authority = read_pem(cluster, "certificate-authority");
    if (access.insecure && !access.authority.empty()) {
        cluster.fault("certificate-authority",
                      "expected none beside insecure-skip-tls-verify, found one");
    }
    if (const auto proxy_url = cluster.text("proxy-url"); !proxy_url.empty()) {
        auto proxy = parse_proxy_url(proxy_url);
        if (proxy) {
            access.proxy = *std::move(proxy);
        } else {
            cluster.fault("proxy-url", proxy.error().message);
        }
    }
}

void read_user(const KubeconfigEntry& user, ClusterAccess& access) {
    access.client_certificate = read_pem(user, "client-certificate");
    access.client_key = read_pem(user, "client-key");
    if (access.client_certificate.empty() != access.client_key.empty()) {
        user.fault(access.client_key.empty() ? "client-key" : "client-certificate",
                   "expected a certificate and its key, found one of them");
    }
    access.token = user.text("token");
    access.token_file = user.readable("tokenFile");
    if (user.has("exec")) {
        access.exec = read_exec_plugin(user.part("exec"));
    }
    access.impersonation = read_impersonation(user);
    for (const auto* key : {"username", "password"}) {
        if (user.has(key)) {
            user.fault(key, "API servers take no passwords since 1.19; use token or exec");
        }
    }
    if (user.has("auth-provider")) {
        user.fault("auth-provider", "was replaced by exec plugins in 1.26; use exec");
    }
}

/// What a cluster says for plugins alone is of any shape, and we hand on texts only.
void refuse_plugin_config(const KubeconfigEntry& cluster) {
    for (const auto& extension : cluster.parts("extensions")) {
        if (extension.text("name") == "client.authentication.k8s.io/exec") {
            extension.fault("name",
                            "configuration for credential plugins is not handed on; expected "
                            "the plugin to be told by its arguments or environment");
        }
    }
}

void read_context(const KubeconfigEntry& context, const Merged& merged, bool allow_insecure,
                  ClusterAccess& access, FaultList& faults) {
    access.space = context.text("namespace");
    const auto cluster_name = context.text("cluster");
    const auto cluster = find(merged.clusters, "cluster", cluster_name, faults);
    if (cluster) {
        read_cluster(*cluster, allow_insecure, access);
    } else {
        context.fault("cluster", "expected the name of a cluster, found " +
                                     log_value(cluster_name) + "; " + known(merged.clusters));
    }
    // A context without a user is anonymous.
    const auto user_name = context.text("user");
    const auto user = find(merged.users, "user", user_name, faults);
    if (user) {
        read_user(*user, access);
        if (cluster && access.exec && access.exec->gets_cluster) {
            refuse_plugin_config(*cluster);
        }
    } else if (!user_name.empty()) {
        context.fault("user", "expected the name of a user, found " + log_value(user_name) + "; " +
                                  known(merged.users));
    }
}

std::string names_of(const std::vector<std::filesystem::path>& paths) {
    std::string names;
    for (const auto& path : paths) {
        names += (names.empty() ? "" : ", ") + path.string();
    }
    return names;
}

std::vector<std::filesystem::path> paths_in(std::string_view list) {
    std::vector<std::filesystem::path> paths;
    while (!list.empty()) {
        const auto colon = std::min(list.find(':'), list.size());
        const std::filesystem::path path{list.substr(0, colon)};
        if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) {
            paths.push_back(path);
        }
        list.remove_prefix(std::min(colon + 1, list.size()));
    }
    return paths;
}

}  // namespace

Result<std::vector<KubeconfigFile>> read_kubeconfigs(const KubeconfigPlaces& places) {
    auto paths = paths_in(places.environment);
    if (!places.chosen.empty()) {
        paths = {places.chosen};
    } else if (paths.empty() && !places.home.empty()) {
        paths = {places.home / ".kube" / "config"};
    }
    std::vector<KubeconfigFile> files;
    for (const auto& path : paths) {
        // Relative paths in a file start at its folder, wherever the process goes.
        std::error_code error;
        const auto whole = std::filesystem::absolute(path, error);
        auto text = read_file(path, kubeconfig_limit);
        if (text) {
            files.push_back({.path = error ? path : whole, .text = *std::move(text)});
        } else if (text.error().code != Errc::not_found || !places.chosen.empty()) {
            return fail(std::move(text.error()).within("kubeconfig"));
        }
    }
    if (files.empty()) {
        return fail(Errc::not_found,
                    paths.empty() ? "no kubeconfig: expected KUBECONFIG or a home folder to be set"
                                  : "no kubeconfig: looked for " + names_of(paths));
    }
    return files;
}

Result<ClusterAccess> access_from_kubeconfig(const std::vector<KubeconfigFile>& files,
                                             const AccessOptions& options) {
    FaultList faults;
    const auto merged = merge(files, faults);
    const auto& name = options.context.empty() ? merged.current_context : options.context;
    ClusterAccess access;
    if (const auto context = find(merged.contexts, "context", name, faults)) {
        access.origin = "context " + log_value(name) + " of " + context->file().string();
        read_context(*context, merged, options.allow_insecure, access, faults);
    } else if (faults.empty()) {
        faults.add(name.empty()
                       ? "no current-context is set; choose a context, " + known(merged.contexts)
                       : "expected the name of a context, found " + log_value(name) + "; " +
                             known(merged.contexts));
    }
    if (!faults.empty()) {
        return fail(Errc::invalid, faults.text());
    }
    return access;
}

}  // namespace scout::kube
