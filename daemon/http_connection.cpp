// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_connection.h"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

namespace scout::daemon {
namespace {

namespace http = boost::beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

/// What a TLS record holds: a long body comes in pieces of this.
constexpr std::size_t piece_bytes = std::size_t{16} << 10U;

}  // namespace

HttpConnection::HttpConnection(tcp::socket socket, std::shared_ptr<ServerTls> tls,
                               std::size_t header_bytes)
    : tcp_(std::move(socket)), made_with_(std::move(tls)), buffer_(header_bytes + piece_bytes) {
    if (made_with_) {
        tls_.emplace(tcp_, made_with_->context);
    }
}

Task<error_code> HttpConnection::shake_hands(Limit limit) {
    if (!tls_) {
        co_return error_code{};
    }
    tcp_.expires_after(limit);
    const auto [error] = co_await tls_->async_handshake(ssl::stream_base::server, as_result);
    co_return error;
}

std::string HttpConnection::client(const ClientAuthorities& authorities) {
    return tls_ ? authorities.client_of(*tls_) : std::string{};
}

Task<error_code> HttpConnection::read_head(Parser* request, Limit limit) {
    tcp_.expires_after(limit);
    error_code error;
    std::size_t read = 0;
    if (tls_) {
        std::tie(error, read) =
            co_await http::async_read_header(*tls_, buffer_, *request, as_result);
    } else {
        std::tie(error, read) =
            co_await http::async_read_header(tcp_, buffer_, *request, as_result);
    }
    co_return error;
}

Task<error_code> HttpConnection::read_body(Parser* request, Limit limit,
                                           std::function<bool(std::size_t)> enough) {
    // Beast reads no more at once than there is room for already.
    buffer_.reserve(piece_bytes);
    tcp_.expires_after(limit);
    error_code error;
    std::size_t read = 0;
    while (!error && !request->is_done() && !enough(request->get().body().size())) {
        if (tls_) {
            std::tie(error, read) =
                co_await http::async_read_some(*tls_, buffer_, *request, as_result);
        } else {
            std::tie(error, read) =
                co_await http::async_read_some(tcp_, buffer_, *request, as_result);
        }
    }
    co_return error;
}

Task<error_code> HttpConnection::write(Response* response, Limit limit) {
    tcp_.expires_after(limit);
    error_code error;
    std::size_t written = 0;
    if (tls_) {
        std::tie(error, written) = co_await http::async_write(*tls_, *response, as_result);
    } else {
        std::tie(error, written) = co_await http::async_write(tcp_, *response, as_result);
    }
    co_return error;
}

Task<> HttpConnection::hear_out(Limit limit, std::size_t most_bytes) {
    error_code ignored;
    tcp_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    tcp_.expires_after(limit);
    std::array<char, 4096> rubbish{};
    std::size_t heard = 0;
    while (heard < most_bytes) {
        const auto buffer = asio::buffer(rubbish);
        const auto [error, bytes] = co_await tcp_.async_read_some(buffer, as_result);
        if (error) {
            co_return;
        }
        heard += bytes;
    }
}

}  // namespace scout::daemon
