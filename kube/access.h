// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace scout::kube {

/// Largest token file: 64 KiB. Real ones have 1 to 4.
inline constexpr std::size_t longest_token = std::size_t{64} << 10U;

/// PEM text, or the file that holds it and is read again when it changes. Both empty: none.
struct PemSource {
    std::string text;
    std::filesystem::path file;

    [[nodiscard]] bool empty() const noexcept { return text.empty() && file.empty(); }
};

struct ServerAddress {
    std::string url;  ///< as given, for messages
    bool tls = true;
    std::string host;  ///< IPv6 without brackets
    std::uint16_t port = 0;
    std::string prefix;  ///< in front of every path, percent-encoded; empty or "/k8s/clusters/c-1"

    /// "host:port", "[::1]:6443": for Host headers, CONNECT and messages.
    [[nodiscard]] std::string authority() const;
};

/// An HTTP proxy that is asked to CONNECT.
struct ProxyAddress {
    std::string url;  ///< as given; may hold a password
    std::string host;
    std::uint16_t port = 0;
    std::string authorization;  ///< value of Proxy-Authorization, empty for none; a secret
};

/// A program that prints credentials: client.authentication.k8s.io.
struct ExecPlugin {
    std::string api_version;  ///< with the group, v1 or v1beta1
    std::string command;      ///< a path, or a name to be found in PATH
    std::vector<std::string> arguments;
    std::vector<std::string> environment;  ///< "NAME=value"
    std::string install_hint;
    bool gets_cluster = false;  ///< provideClusterInfo
};

/// One API server and who we are to it; all that a Transport needs to know.
///
/// Of token_file, token and exec the first one that is set counts; a client certificate is shown
/// beside it.
struct ClusterAccess {
    std::string origin;  ///< where this comes from: "context 'prod' in …/config"
    ServerAddress server;
    std::string tls_server_name;  ///< expected in the certificate; empty: the host
    PemSource authority;          ///< empty: the machine's own authorities
    bool insecure = false;        ///< the server's certificate is not checked
    std::optional<ProxyAddress> proxy;
    PemSource client_certificate;
    PemSource client_key;
    std::string token;
    std::filesystem::path token_file;
    std::optional<ExecPlugin> exec;
    /// Impersonate-* headers.
    std::vector<std::pair<std::string, std::string>> impersonation;
    std::string space;  ///< namespace that the context or the pod is in; may be empty
};

/// "https://host:port/prefix"; http only for loopback unless `allow_insecure`. Errc::invalid says
/// what was expected.
[[nodiscard]] Result<ServerAddress> parse_server_url(std::string_view text, bool allow_insecure);

/// "http://user:password@host:port". Other schemes are Errc::invalid: a proxy that speaks TLS or
/// SOCKS is not used.
[[nodiscard]] Result<ProxyAddress> parse_proxy_url(std::string_view text);

/// Where a pod finds its API server and its account.
struct PodPlace {
    std::filesystem::path root = "/";
    std::string host;  ///< environment variable KUBERNETES_SERVICE_HOST
    std::string port;  ///< KUBERNETES_SERVICE_PORT
};

/// Errc::not_found if this is no pod of a cluster; Errc::invalid lists what is wrong, one line
/// each.
[[nodiscard]] Result<ClusterAccess> access_in_cluster(const PodPlace& place);

}  // namespace scout::kube
