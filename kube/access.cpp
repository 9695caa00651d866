// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/base64.h"
#include "base/files.h"
#include "base/logging.h"

namespace scout::kube {
namespace {

namespace urls = boost::urls;

constexpr std::size_t longest_url = 2048;
constexpr std::size_t longest_token = std::size_t{64} << 10U;
constexpr std::size_t longest_space = 253;

bool is_loopback(const std::string& host) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return host == "localhost" || (!error && address.is_loopback());
}

bool is_host(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == ':';
    });
}

/// The parts that both kinds of URL share.
Result<urls::url_view> parse(std::string_view text, std::string_view expected) {
    const auto wrong = [text, expected](std::string_view found) {
        return fail(Errc::invalid, "expected " + std::string{expected} + ", found " +
                                       log_value(text.substr(0, longest_url)) +
                                       (found.empty() ? "" : " " + std::string{found}));
    };
    if (text.size() > longest_url) {
        return wrong("and more");
    }
    const auto url = urls::parse_uri({text.data(), text.size()});
    if (!url || !url->has_authority()) {
        return wrong("");
    }
    if (!is_host(std::string{url->host_address()})) {
        return wrong("without a host");
    }
    if (url->has_port() && url->port_number() == 0) {
        return wrong("with a wrong port");
    }
    if (url->has_query() || url->has_fragment()) {
        return wrong("with a query or fragment");
    }
    return *url;
}

std::uint16_t port_of(const urls::url_view& url, std::uint16_t otherwise) {
    return url.has_port() ? url.port_number() : otherwise;
}

}  // namespace

std::string ServerAddress::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ServerAddress> parse_server_url(std::string_view text, bool allow_insecure) {
    constexpr std::string_view expected = "a URL such as https://host:6443";
    const auto url = parse(text, expected);
    if (!url) {
        return fail(url.error());
    }
    const auto scheme = url->scheme();
    if ((scheme != "https" && scheme != "http") || url->has_userinfo()) {
        return fail(Errc::invalid, "expected " + std::string{expected} +
                                       " without user or password, found scheme '" +
                                       std::string{scheme} + "'");
    }
    ServerAddress server{.url = std::string{text}, .tls = scheme == "https"};
    server.host = url->host_address();
    server.port = port_of(*url, server.tls ? 443 : 80);
    server.prefix = std::string{url->encoded_path()};
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
    constexpr std::string_view expected = "a proxy URL such as http://host:3128";
    // The text may hold a password: it is not repeated.
    const auto url = parse(text, expected);
    if (!url) {
        return fail(Errc::invalid, "expected " + std::string{expected} + ", found something else");
    }
    if (url->scheme() != "http" || (url->encoded_path() != "" && url->encoded_path() != "/")) {
        return fail(Errc::invalid, "expected " + std::string{expected} + ", found scheme '" +
                                       std::string{url->scheme()} +
                                       "': proxies over TLS or SOCKS are not used");
    }
    ProxyAddress proxy{.url = std::string{text},
                       .host = std::string{url->host_address()},
                       .port = port_of(*url, 80)};
    if (url->has_userinfo()) {
        proxy.authorization =
            "Basic " + base64_encode(std::string{url->user()} + ":" + std::string{url->password()});
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
