// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
class Channel;
}  // namespace grpc

namespace scout::wire {

/// Where a gRPC service is: "unix:/path" or "host:port" ("[::1]:9286" for IPv6).
struct Endpoint {
    std::string unix_path;  ///< set for unix sockets, then host and port are empty
    std::string host;
    std::uint16_t port = 0;

    [[nodiscard]] bool is_unix() const noexcept { return !unix_path.empty(); }
    /// unix, 127.0.0.0/8 or ::1 by literal address; a name is never taken for loopback, except
    /// "localhost".
    [[nodiscard]] bool is_local() const;
    [[nodiscard]] std::string target() const;  ///< as gRPC wants it
};

/// Errc::invalid names what was expected; a unix path over 107 bytes is refused (the kernel's
/// limit for sun_path).
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

/// Which files one side of a TLS connection has.
enum class TlsSide : std::uint8_t {
    mutual,  ///< all three: it shows a certificate and checks the other side's
    server,  ///< certificate and key: its clients show no certificate
    client,  ///< CA: it checks the server, and shows no certificate itself
};

/// PEM files of one side of a TLS connection; re-read when they change, without a restart.
struct TlsFiles {
    std::filesystem::path ca;
    std::filesystem::path certificate;
    std::filesystem::path key;
    std::chrono::seconds reload_every{10};  ///< how often the files are looked at; at least 1 s
    TlsSide side = TlsSide::mutual;
};

/// The files that settings name; nothing if they name none of them.
[[nodiscard]] std::optional<TlsFiles> tls_files(TlsFiles named);

/// How a connection is secured. Plaintext is only for local endpoints and only when asked for.
struct Security {
    std::optional<TlsFiles> tls;
    bool plaintext = false;
    std::string server_name;  ///< expected name in the server's certificate, if not the host
};

/// Errc::invalid names those of the side's TLS files that are missing, and those that it does not
/// have. Errc::refused with what to do: no TLS files and no plaintext asked for; both; plaintext on
/// an address that is not local; TLS files for a unix socket. Unix sockets need neither.
[[nodiscard]] Status check_security(const Endpoint& endpoint, const Security& security);

/// Credentials after check_security(); TLS files that cannot be read, and those of the other side,
/// are Errc::invalid.
[[nodiscard]] Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(
    const Endpoint& endpoint, const Security& security);
[[nodiscard]] Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint,
                                                                  const Security& security);

}  // namespace scout::wire
