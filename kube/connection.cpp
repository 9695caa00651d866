// SPDX-License-Identifier: Apache-2.0
#include "kube/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "base/logging.h"
#include "kube/certificate_text.h"
#include "kube/resolve.h"

namespace scout::kube {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
namespace beast = boost::beast;
namespace ssl = asio::ssl;

/// Client-go's own numbers are 30 s for both; a peer is given up after three probes.
constexpr int keepalive_idle_s = 30;
constexpr int keepalive_interval_s = 10;
constexpr int keepalive_probes = 3;
constexpr unsigned unacknowledged_ms = 30'000;

Errc code_for(const error_code& error) {
    if (error == beast::error::timeout) {
        return Errc::timed_out;
    }
    return error == asio::error::operation_aborted ? Errc::cancelled : Errc::unavailable;
}

/// Why the other side may not be who it should be, for the one handshake.
struct Refusal {
    std::string expected_name;
    std::string reason;
};

/// SNI (names only: an address is no server name), and the name that the certificate must have.
bool expect_name(SSL* session, std::string name) {
    error_code no_address;
    const auto address = asio::ip::make_address(name, no_address);
    SSL_set_hostflags(session,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (!no_address) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session),
                                             address.to_string().c_str()) == 1;
    }
    // What the macro SSL_set_tlsext_host_name does, without its C cast.
    return SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    name.data()) == 1 &&
           SSL_set1_host(session, name.c_str()) == 1;
}

}  // namespace

Connection::Connection(asio::any_io_executor loop, std::string name)
    : tcp_(std::move(loop)), name_(std::move(name)) {}

Task<Result<std::unique_ptr<Connection>>> Connection::open(Route route, TlsContext tls,
                                                           Deadline deadline) {
    const auto loop = co_await asio::this_coro::executor;
    auto connection = std::make_unique<Connection>(loop, route.server.url);
    const auto& host = route.proxy ? route.proxy->host : route.server.host;
    const auto port = route.proxy ? route.proxy->port : route.server.port;
    auto done = co_await connection->connect(host, port, deadline);
    if (done && route.proxy) {
        done = co_await connection->ask_proxy(*route.proxy, route.server, deadline);
    }
    if (done && route.server.tls) {
        done = co_await connection->shake_hands(route, tls, deadline);
    }
    if (!done) {
        co_return fail(std::move(done.error()));
    }
    co_return connection;
}

Task<Status> Connection::connect(std::string host, std::uint16_t port, Deadline deadline) {
    const auto endpoints = co_await resolve(host, port, deadline.left());
    if (!endpoints) {
        auto error = endpoints.error();
        co_return fail(std::move(error).within("connect to " + name_));
    }
    Error last{.code = Errc::timed_out};
    auto remaining = static_cast<milliseconds::rep>(endpoints->size());
    for (const auto& endpoint : *endpoints) {
        // An address that swallows packets must leave time for the next.
        const auto share = deadline.left() / remaining--;
        tcp_.expires_after(share);
        const auto [error] = co_await tcp_.async_connect(endpoint, as_result);
        if (!error) {
            set_tcp_options();
            co_return Status{};
        }
        last = broken("connect to " + endpoint.address().to_string() + " port " +
                          std::to_string(endpoint.port()),
                      error, share);
        if (last.code == Errc::cancelled) {
            break;
        }
        tcp_.close();
    }
    co_return fail(std::move(last));
}

void Connection::set_tcp_options() {
    auto& socket = tcp_.socket();
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(tcp::socket::keep_alive(true), ignored);
    const auto set = [&socket](int option, auto value) {
        static_cast<void>(
            ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value));
    };
    set(TCP_KEEPIDLE, keepalive_idle_s);
    set(TCP_KEEPINTVL, keepalive_interval_s);
    set(TCP_KEEPCNT, keepalive_probes);
    set(TCP_USER_TIMEOUT, unacknowledged_ms);
}

Task<Status> Connection::ask_proxy(ProxyAddress proxy, ServerAddress server, Deadline deadline) {
    const auto target = server.authority();
    const std::string step = "proxy " + proxy.host + ":" + std::to_string(proxy.port);
    std::string request = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
    if (!proxy.authorization.empty()) {
        request += "Proxy-Authorization: " + proxy.authorization + "\r\n";
    }
    request += "\r\n";
    const std::string_view no_body;
    auto sent = co_await write(request, no_body, deadline.left());
    if (!sent) {
        co_return fail(std::move(sent.error()).within(step));
    }
    HttpAnswer answer({});
    while (!answer.has_head()) {
        auto done = co_await read(&answer, deadline.left());
        if (!done) {
            co_return fail(std::move(done.error()).within(step));
        }
    }
    if (answer.head().status < 200 || answer.head().status >= 300) {
        co_return fail(Errc::unavailable, step + ": asked to CONNECT to " + target +
                                              ", it answered HTTP " +
                                              std::to_string(answer.head().status));
    }
    co_return Status{};
}

Task<Status> Connection::shake_hands(Route route, TlsContext tls, Deadline deadline) {
    context_ = tls.context;
    tls_version_ = tls.version;
    tls_ = std::make_unique<Tls>(tcp_, *context_);
    const auto refusal = std::make_shared<Refusal>();
    refusal->expected_name = route.server_name;
    if (!expect_name(tls_->native_handle(), route.server_name)) {
        co_return fail(Errc::invalid, "TLS with " + name_ + ": " + log_value(route.server_name) +
                                          " is no name that a certificate can have");
    }
    if (!route.insecure) {
        error_code ignored;
        tls_->set_verify_callback(
            [refusal](bool fine, ssl::verify_context& context) {
                if (!fine) {
                    refusal->reason = why_refused(context.native_handle(), refusal->expected_name);
                }
                return fine;
            },
            ignored);
    }
    const auto limit = deadline.left();
    tcp_.expires_after(limit);
    const auto [error] = co_await tls_->async_handshake(ssl::stream_base::client, as_result);
    if (error && !refusal->reason.empty()) {
        co_return fail(
            Errc::unavailable,
            "TLS with " + name_ + ": the server's certificate is refused: " + refusal->reason);
    }
    if (error) {
        co_return fail(broken("TLS handshake", error, limit));
    }
    co_return Status{};
}

Task<Status> Connection::read(HttpAnswer* answer, milliseconds limit) {
    const auto got = co_await read_some(answer->space(), limit);
    if (!got) {
        co_return fail(got.error());
    }
    auto taken = *got == 0 ? answer->end() : answer->take(*got);
    if (!taken) {
        co_return fail(std::move(taken.error()).within(name_));
    }
    co_return Status{};
}

Task<Result<std::size_t>> Connection::read_some(asio::mutable_buffer space, milliseconds limit) {
    tcp_.expires_after(limit);
    error_code error;
    std::size_t got = 0;
    if (tls_) {
        std::tie(error, got) = co_await tls_->async_read_some(space, as_result);
    } else {
        std::tie(error, got) = co_await tcp_.async_read_some(space, as_result);
    }
    // Few peers take leave as TLS wants it; whether the answer is whole, HTTP tells.
    if (error == asio::error::eof || error == ssl::error::stream_truncated) {
        co_return std::size_t{0};
    }
    if (error) {
        co_return fail(broken("read", error, limit));
    }
    co_return got;
}

Task<Status> Connection::write(std::string_view head, std::string_view body, milliseconds limit) {
    tcp_.expires_after(limit);
    const std::array<asio::const_buffer, 2> texts{asio::buffer(head), asio::buffer(body)};
    error_code error;
    std::size_t written = 0;
    if (tls_) {
        std::tie(error, written) = co_await asio::async_write(*tls_, texts, as_result);
    } else {
        std::tie(error, written) = co_await asio::async_write(tcp_, texts, as_result);
    }
    if (error) {
        co_return fail(broken("write", error, limit));
    }
    co_return Status{};
}

bool Connection::is_quiet() {
    char byte = 0;
    const auto got =
        ::recv(tcp_.socket().native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && errno == EAGAIN;
}

Error Connection::broken(std::string_view step, const error_code& error, milliseconds limit) const {
    const auto code = code_for(error);
    std::string what = error.message();
    if (code == Errc::timed_out) {
        what = "nothing came within " + std::to_string(limit.count()) + " ms";
    } else if (code == Errc::cancelled) {
        what = "cancelled";
    }
    return {.code = code, .message = name_ + ": " + std::string{step} + ": " + what};
}

}  // namespace scout::kube
