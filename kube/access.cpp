// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <utility>

#include <boost/asio/ip/address.hpp>

#include "base/base64.h"
#include "base/files.h"
#include "base/logging.h"
#include "base/percent.h"
#include "kube/url.h"

namespace scout::kube {
namespace {

constexpr std::size_t longest_space = 253;

bool is_loopback(const std::string& host) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return host == "localhost" || (!error && address.is_loopback());
}

}  // namespace

std::string ServerAddress::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ServerAddress> parse_server_url(std::string_view text, bool allow_insecure) {
    auto url = parse_url(text);
    if (url && url->user_info) {
        return fail(
            Errc::invalid,
            "expected a URL such as https://host:6443, without user and password, found some in "
            "the one of host " +
                log_value(url->host) + "; credentials belong to the user's entry");
    }
    if (!url || (url->scheme != "https" && url->scheme != "http")) {
        // Where there is an '@', a password may stand before it, however odd the rest is.
        const bool may_hold_password = text.find('@') != std::string_view::npos;
        return fail(Errc::invalid,
                    "expected a URL such as https://host:6443, without user, query and fragment, "
                    "found " +
                        (may_hold_password
                             ? "another with '@', which is not repeated: it may hold a password"
                             : log_value(text)));
    }
    ServerAddress server{.url = std::string{text},
                         .tls = url->scheme == "https",
                         .host = std::move(url->host),
                         .prefix = std::move(url->path)};
    server.port = url->port != 0 ? url->port : server.tls ? 443 : 80;
    while (server.prefix.ends_with('/')) {
        server.prefix.pop_back();
    }
    if (!server.tls && !allow_insecure && !is_loopback(server.host)) {
        return fail(Errc::invalid, "expected https, found http to " + server.host +
                                       ": credentials would cross the network in the clear; use "
                                       "https, or ask for an insecure connection");
    }
    return server;
}

Result<ProxyAddress> parse_proxy_url(std::string_view text) {
    auto url = parse_url(text);
    // The text may hold a password: no more than its scheme is repeated.
    if (!url || url->scheme != "http" || (!url->path.empty() && url->path != "/")) {
        return fail(Errc::invalid, "expected a proxy URL such as http://host:3128, found " +
                                       (url ? "scheme " + log_value(url->scheme) : "other text") +
                                       "; proxies over TLS or SOCKS are not used");
    }
    ProxyAddress proxy{.url = std::string{text}, .host = std::move(url->host), .port = 80};
    if (url->port != 0) {
        proxy.port = url->port;
    }
    if (const auto& user = url->user_info) {
        proxy.authorization = "Basic " + base64_encode(percent_decode(*user));
    }
    return proxy;
}

Result<ClusterAccess> access_in_cluster(const PodPlace& place) {
    if (place.host.empty() || place.port.empty()) {
        return fail(Errc::not_found,
                    "not in a pod: expected KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT in "
                    "the environment; outside a cluster give a kubeconfig");
    }
    const auto account = place.root / "var/run/secrets/kubernetes.io/serviceaccount";
    ClusterAccess access{.origin = "the pod's service account"};
    std::string faults;
    const auto note = [&faults](const std::string& fault) {
        faults += (faults.empty() ? "" : "\n") + fault;
    };
    const bool v6 = place.host.find(':') != std::string::npos;
    auto server = parse_server_url(
        "https://" + (v6 ? "[" + place.host + "]" : place.host) + ":" + place.port, false);
    if (server) {
        access.server = *std::move(server);
    } else {
        note("KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: " + server.error().message);
    }
    access.token_file = account / "token";
    access.authority.file = account / "ca.crt";
    if (const auto token = read_file(access.token_file, longest_token); !token) {
        note(token.error().message +
             ": expected the pod's token; is "
             "automountServiceAccountToken off?");
    }
    if (const auto authority = read_file(access.authority.file); !authority) {
        note(authority.error().message + ": expected the cluster's certificate authority");
    }
    // Not every projected volume carries it, and nothing here needs it.
    access.space = read_file(account / "namespace", longest_space).value_or("");
    if (!faults.empty()) {
        return fail(Errc::invalid, std::move(faults));
    }
    return access;
}

}  // namespace scout::kube
