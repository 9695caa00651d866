// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

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
    /// One more ends the one that has waited longest since its last answer (or its start).
    std::size_t connections = 64;
    std::chrono::milliseconds idle = std::chrono::seconds{10};  ///< for a whole request or answer
    /// How long, and for how many bytes, a refused peer is heard out so that it reads our answer.
    std::chrono::milliseconds hear_out = std::chrono::seconds{2};
    std::size_t hear_out_bytes = std::size_t{16} << 20U;
};

struct HttpAnswer {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

/// A small HTTP/1.1 server for health and metrics: GET and HEAD on exact paths.
///
/// Loop thread only. listen() binds, start() begins to accept, stop() ends every connection and
/// must have returned before the destruction. Handlers run on the loop and must not block.
class HttpServer {
public:
    using Handler = std::function<HttpAnswer()>;

    /// Errc::unavailable in one sentence if the address cannot be bound (port in use, not ours, no
    /// right), Errc::invalid for a wrong address.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(
        const asio::any_io_executor& loop, std::string_view address, HttpLimits limits = {});
    HttpServer(const asio::any_io_executor& loop, Listener listener, HttpLimits limits);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    HttpServer(HttpServer&&) = delete;
    HttpServer& operator=(HttpServer&&) = delete;

    void route(std::string path, Handler handler);
    void start();
    [[nodiscard]] Task<> stop();

    /// The port that is bound.
    [[nodiscard]] std::uint16_t port() const noexcept { return listener_.address().port(); }
    [[nodiscard]] std::string address() const { return to_text(listener_.address()); }
    [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

private:
    struct Connection;

    void take(UniqueFd peer);
    [[nodiscard]] Task<> serve(std::shared_ptr<Connection> connection);
    [[nodiscard]] Task<bool> serve_one(std::shared_ptr<Connection> connection);
    [[nodiscard]] Task<> hear_out(std::shared_ptr<Connection> connection);
    [[nodiscard]] HttpAnswer answer(std::string_view method, std::string_view target) const;

    asio::any_io_executor loop_;
    Listener listener_;
    HttpLimits limits_;
    std::map<std::string, Handler, std::less<>> routes_;
    std::list<std::shared_ptr<Connection>> connections_;  ///< longest without an answer first
    bool stopping_ = false;
    TaskScope scope_;
};

}  // namespace scout::daemon
