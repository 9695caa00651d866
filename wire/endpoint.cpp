// SPDX-License-Identifier: Apache-2.0
#include "wire/endpoint.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/logging.h"
#include "wire/unix_socket.h"

namespace scout::wire {
namespace {

constexpr std::size_t host_limit = 253;

tl::unexpected<Error> wrong_form(std::string_view text, std::string_view why) {
    return fail(Errc::invalid, "expected unix:/absolute/path, host:port or [IPv6]:port, found " +
                                   log_value(text) + " (" + std::string{why} + ")");
}

Result<Endpoint> parse_unix(std::string_view text, std::string_view path) {
    if (path.starts_with("//")) {
        path.remove_prefix(2);
    }
    if (path.empty() || path.front() != '/') {
        return wrong_form(text, "the path of a unix socket must be absolute");
    }
    if (auto fits = check_unix_path(path); !fits) {
        return fail(std::move(fits.error()));
    }
    if (path.find('\0') != std::string_view::npos) {
        return wrong_form(text, "the path has a zero byte");
    }
    Endpoint endpoint;
    endpoint.unix_path = path;
    return endpoint;
}

bool is_host_name(std::string_view host) {
    return std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    });
}

bool is_ipv6(const std::string& host) {
    in6_addr address{};
    return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

Status check_host(std::string_view text, const Endpoint& endpoint, bool bracketed) {
    if (endpoint.host.empty() || endpoint.host.size() > host_limit) {
        return wrong_form(text, "the host is empty or too long");
    }
    if (bracketed && !is_ipv6(endpoint.host)) {
        return wrong_form(text, "no IPv6 address between the brackets");
    }
    if (!bracketed && !is_host_name(endpoint.host)) {
        return wrong_form(text, "the host has characters that no host name has");
    }
    return {};
}

/// Which of the files one side has, and how that is said.
struct SideFiles {
    bool ca;
    bool certificate;
    std::string_view names;
};

SideFiles files_of(TlsSide side) {
    switch (side) {
        case TlsSide::mutual:
            break;
        case TlsSide::server:
            return {.ca = false, .certificate = true, .names = "tls-cert and tls-key together"};
        case TlsSide::client:
            return {.ca = true, .certificate = false, .names = "tls-ca alone"};
    }
    return {.ca = true, .certificate = true, .names = "tls-ca, tls-cert and tls-key together"};
}

/// " tls-cert tls-key": those of the files that a side has and that are not set, or the other way
/// round.
std::string differing(const TlsFiles& files, bool side_has) {
    const auto side = files_of(files.side);
    const auto name = [side_has](const std::filesystem::path& path, bool has, const char* text) {
        return has == side_has && path.empty() == side_has ? text : "";
    };
    return std::string{name(files.ca, side.ca, " tls-ca")} +
           name(files.certificate, side.certificate, " tls-cert") +
           name(files.key, side.certificate, " tls-key");
}

Status check_files_named(const TlsFiles& files) {
    const auto takes = "TLS takes " + std::string{files_of(files.side).names};
    if (const auto missing = differing(files, true); !missing.empty()) {
        return fail(Errc::invalid, takes + ", expected also" + missing);
    }
    if (const auto spare = differing(files, false); !spare.empty()) {
        return fail(Errc::invalid, takes + " here, found also" + spare + ": leave that out");
    }
    return {};
}

}  // namespace

bool Endpoint::is_local() const {
    if (is_unix() || host == "localhost") {
        return true;
    }
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24U) == 127U;
    }
    in6_addr v6{};
    return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string Endpoint::target() const {
    if (is_unix()) {
        return "unix:" + unix_path;
    }
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    constexpr std::string_view scheme = "unix:";
    if (text.starts_with(scheme)) {
        return parse_unix(text, text.substr(scheme.size()));
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return wrong_form(text, "there is no port");
    }
    Endpoint endpoint;
    auto host = text.substr(0, colon);
    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
        host = host.substr(1, host.size() - 2);
    }
    endpoint.host = host;
    const auto digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        return wrong_form(text, "the port must be a number from 0 to 65535");
    }
    if (auto checked = check_host(text, endpoint, bracketed); !checked) {
        return fail(std::move(checked.error()));
    }
    return endpoint;
}

std::optional<TlsFiles> tls_files(TlsFiles named) {
    if (named.ca.empty() && named.certificate.empty() && named.key.empty()) {
        return std::nullopt;
    }
    return named;
}

Status check_security(const Endpoint& endpoint, const Security& security) {
    if (security.tls) {
        if (auto named = check_files_named(*security.tls); !named) {
            return named;
        }
    }
    if (security.tls && security.plaintext) {
        return fail(Errc::refused, "both TLS files and plaintext are set for " + endpoint.target() +
                                       ": choose one of them");
    }
    if (endpoint.is_unix() && security.tls) {
        return fail(Errc::refused, "TLS files are set for " + endpoint.target() +
                                       ", but a unix socket is guarded by its file's mode and has "
                                       "no TLS: leave the TLS files out, or use host:port");
    }
    if (endpoint.is_unix() || security.tls) {
        return {};
    }
    if (!security.plaintext) {
        return fail(Errc::refused, "no TLS files are set for " + endpoint.target() +
                                       ": set the files of CA, certificate and key" +
                                       (endpoint.is_local()
                                            ? ", or ask for plaintext by name on this local address"
                                            : ""));
    }
    if (!endpoint.is_local()) {
        return fail(Errc::refused,
                    "plaintext is refused on " + endpoint.target() +
                        ", which is not a local address: use TLS files, or 127.0.0.1, [::1], "
                        "localhost or a unix socket");
    }
    return {};
}

}  // namespace scout::wire
