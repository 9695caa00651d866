// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/certificates.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "base/unique_fd.h"
#include "daemon/listener.h"

namespace scout::daemon {

/// "127.0.0.1:9291", "[::1]:9291", "0.0.0.0:0" or "localhost:9291": a literal address and a port;
/// 0 lets the kernel choose. Errc::invalid says what was expected.
[[nodiscard]] Result<asio::ip::tcp::endpoint> parse_listen_address(std::string_view text);

struct HttpLimits {
    std::size_t header_bytes = 8192;
    std::size_t body_bytes = 1024;  ///< of a request; GET has none, but may say so
    /// What has come of the bodies of all connections that are being read or answered; 503 for what
    /// is beyond. Bodies that are only announced take no room, or a few peers could shut the others
    /// out.
    std::size_t all_bodies_bytes = std::size_t{32} << 20U;
    /// For a body, once its head is there.
    std::chrono::milliseconds body = std::chrono::seconds{5};
    /// One more ends the one that has waited longest since its last answer (or its start).
    std::size_t connections = 64;
    /// For a TLS handshake, for a whole request (also the silence before it), for an answer. A Go
    /// client keeps unused connections for 90 s: a server that it posts to has more patience.
    std::chrono::milliseconds idle = std::chrono::seconds{10};
    /// How long, and for how many bytes, a refused peer is heard out so that it reads our answer.
    std::chrono::milliseconds hear_out = std::chrono::seconds{2};
    std::size_t hear_out_bytes = std::size_t{16} << 20U;
};

enum class HttpSecurity : std::uint8_t {
    plain,
    tls,  ///< 1.2 and above, with the certificate of use()
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
    std::string method;
    std::string path;   ///< percent-encoded, as it came
    std::string query;  ///< without its '?'
    HttpHeaders headers;
    std::string body;
    /// Who sent it, as a certificate proves: its common name. Empty: nobody knows.
    std::string client;

    /// The first of that name, in whatever case; empty if there is none.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

struct HttpAnswer {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    HttpHeaders headers;  ///< beside type and length
};

class ClientAuthorities;
class HttpConnection;
struct ServerTls;

/// A small HTTP/1.1 server, with TLS or without: methods on paths. A path that ends with '/' stands
/// for all below it that no longer one stands for.
///
/// Loop thread only. listen() binds, start() begins to accept, stop() ends every connection and
/// must have returned before the destruction. Handlers run on the loop and must not block; stop()
/// cancels those that are still running, and waits for them.
class HttpServer {
public:
    using Handler = std::function<HttpAnswer()>;
    using AsyncHandler = std::function<Task<HttpAnswer>(HttpRequest)>;

    /// Errc::unavailable in one sentence if the address cannot be bound (port in use, not ours, no
    /// right), Errc::invalid for a wrong address.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(
        const asio::any_io_executor& loop, std::string_view address, HttpLimits limits = {},
        HttpSecurity security = HttpSecurity::plain);
    HttpServer(const asio::any_io_executor& loop, Listener listener, HttpLimits limits,
               HttpSecurity security);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    HttpServer(HttpServer&&) = delete;
    HttpServer& operator=(HttpServer&&) = delete;

    /// What GET (and HEAD) of the path answers.
    void route(std::string path, Handler handler);
    /// "POST", or "GET" for GET and HEAD. An exception ends the connection without an answer.
    void route(std::string method, std::string path, AsyncHandler handler);

    /// Of a server with HttpSecurity::tls, whose connections are refused before the first one. New
    /// connections get this certificate, those that are open keep theirs. Errc::invalid if the pair
    /// cannot be read or does not fit together: what was in use stays so.
    [[nodiscard]] Status use(const CertifiedKey& certificate);
    /// Whose certificates prove who a client is, in PEM form; from the next request on, on all
    /// connections. Empty: nobody's. Errc::invalid if it cannot be read: nobody's, too.
    [[nodiscard]] Status use_client_authorities(std::string_view pem);

    void start();
    [[nodiscard]] Task<> stop();

    /// The port that is bound.
    [[nodiscard]] std::uint16_t port() const noexcept { return listener_.address().port(); }
    [[nodiscard]] std::string address() const { return to_text(listener_.address()); }
    [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
    /// Requests for whose bodies there was no room.
    [[nodiscard]] std::uint64_t crowded_out() const noexcept { return crowded_out_; }

private:
    using Handlers = std::map<std::string, AsyncHandler, std::less<>>;  ///< by method
    using Connection = std::shared_ptr<HttpConnection>;

    void take(UniqueFd peer);
    [[nodiscard]] Task<> serve(Connection connection);
    [[nodiscard]] Task<bool> serve_one(Connection connection);
    [[nodiscard]] Task<> refuse(Connection connection, HttpAnswer said);
    [[nodiscard]] Task<HttpAnswer> answer(HttpRequest request) const;
    [[nodiscard]] const Handlers* handlers_of(std::string_view path) const;
    [[nodiscard]] std::optional<HttpAnswer> unwanted(std::string_view method,
                                                     std::string_view target) const;

    asio::any_io_executor loop_;
    Listener listener_;
    HttpLimits limits_;
    HttpSecurity security_;
    std::shared_ptr<ServerTls> tls_;                         ///< of new connections
    std::unique_ptr<ClientAuthorities> client_authorities_;  ///< null: clients are unknown
    std::map<std::string, Handlers> routes_;
    std::list<Connection> connections_;  ///< longest without an answer first
    std::size_t bodies_bytes_ = 0;
    std::uint64_t crowded_out_ = 0;
    bool stopping_ = false;
    TaskScope scope_;
};

}  // namespace scout::daemon
