// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/access.h"
#include "kube/deadline.h"
#include "kube/http_answer.h"
#include "kube/tls_source.h"

namespace scout::kube {

/// What connections are made with.
struct Route {
    ServerAddress server;
    std::string server_name;  ///< expected in the certificate: a DNS name or an address
    bool insecure = false;
    std::optional<ProxyAddress> proxy;
};

/// One TCP connection to a server, with TLS if it has any, through a proxy if there is one.
///
/// Loop thread only, one operation at a time. Every operation ends within its time, and the
/// connection is of no more use after one that failed. A peer that is gone without a word is
/// noticed by TCP keepalive after about a minute, by a write after half a minute, and by the
/// caller's limit for a read.
/// Errors: timed_out, cancelled, unavailable (names the server and what was expected).
class Connection {
public:
    Connection(asio::any_io_executor loop, std::string name);

    /// Resolves, connects, asks the proxy, shakes hands.
    [[nodiscard]] static Task<Result<std::unique_ptr<Connection>>> open(Route route, TlsContext tls,
                                                                        Deadline deadline);

    /// Waits for the next bytes, or the end, and gives them to the answer, which must outlive the
    /// call and is not done yet. Errors beside those above: the answer's.
    [[nodiscard]] Task<Status> read(HttpAnswer* answer, std::chrono::milliseconds limit);
    /// The texts must outlive the call.
    [[nodiscard]] Task<Status> write(std::string_view head, std::string_view body,
                                     std::chrono::milliseconds limit);

    /// False if the peer closed it or sent what nobody asked for: not to be used again.
    [[nodiscard]] bool is_quiet();

    /// Of the TlsContext.
    [[nodiscard]] std::uint64_t tls_version() const noexcept { return tls_version_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    using Tls = asio::ssl::stream<boost::beast::tcp_stream&>;

    [[nodiscard]] Task<Result<std::size_t>> read_some(asio::mutable_buffer space,
                                                      std::chrono::milliseconds limit);
    [[nodiscard]] Task<Status> connect(std::string host, std::uint16_t port, Deadline deadline);
    [[nodiscard]] Task<Status> ask_proxy(ProxyAddress proxy, ServerAddress server,
                                         Deadline deadline);
    [[nodiscard]] Task<Status> shake_hands(Route route, TlsContext tls, Deadline deadline);
    void set_tcp_options();
    [[nodiscard]] Error broken(std::string_view step, const boost::system::error_code& error,
                               std::chrono::milliseconds limit) const;

    boost::beast::tcp_stream tcp_;
    std::shared_ptr<asio::ssl::context> context_;  ///< of tls_
    std::unique_ptr<Tls> tls_;
    std::uint64_t tls_version_ = 0;
    std::string name_;
};

}  // namespace scout::kube
