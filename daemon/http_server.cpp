// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_server.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/logging.h"

namespace scout::daemon {
namespace {

namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

tl::unexpected<Error> wrong_address(std::string_view text) {
    return fail(Errc::invalid,
                "expected an address and a port such as '127.0.0.1:9291' or '[::1]:9291', found " +
                    log_value(text));
}

/// Status for a request that could not be read; nothing for a peer that went away.
std::optional<http::status> status_for(const error_code& error) {
    if (error == http::error::header_limit) {
        return http::status::request_header_fields_too_large;
    }
    if (error == http::error::body_limit) {
        return http::status::payload_too_large;
    }
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
        return http::status::bad_request;
    }
    return std::nullopt;
}

Response make_response(const Request& request, HttpAnswer answer) {
    Response response;
    response.version(request.version());
    response.result(answer.status);
    response.set(http::field::content_type, answer.content_type);
    response.set(http::field::cache_control, "no-store");
    if (response.result() == http::status::method_not_allowed) {
        response.set(http::field::allow, "GET, HEAD");
    }
    response.keep_alive(request.keep_alive());
    response.body() = std::move(answer.body);
    response.prepare_payload();
    if (request.method() == http::verb::head) {
        response.body().clear();
    }
    return response;
}

HttpAnswer plain(http::status status) {
    return {.status = static_cast<unsigned>(status),
            .body = std::string{http::obsolete_reason(status)} + "\n"};
}

}  // namespace

Result<tcp::endpoint> parse_listen_address(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return wrong_address(text);
    }
    auto host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
        host = host.substr(1, host.size() - 2);
    }
    const auto port_text = text.substr(colon + 1);
    std::uint16_t port = 0;
    const char* const last = port_text.data() + port_text.size();
    const auto [end, wrong] = std::from_chars(port_text.data(), last, port);
    if (wrong != std::errc{} || end != last) {
        return wrong_address(text);
    }
    error_code error;
    const auto address =
        asio::ip::make_address(host == "localhost" ? "127.0.0.1" : std::string{host}, error);
    if (error || address.is_v6() != bracketed) {
        return wrong_address(text);
    }
    return tcp::endpoint{address, port};
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const asio::any_io_executor& loop,
                                                       std::string_view address,
                                                       HttpLimits limits) {
    const auto endpoint = parse_listen_address(address);
    if (!endpoint) {
        return fail(endpoint.error());
    }
    auto listener = Listener::at(loop, *endpoint);
    if (!listener) {
        return fail(std::move(listener.error()));
    }
    return std::make_unique<HttpServer>(loop, std::move(*listener), limits);
}

struct HttpServer::Connection {
    Connection(tcp::socket socket, std::size_t most_bytes)
        : stream(std::move(socket)), buffer(most_bytes) {}

    boost::beast::tcp_stream stream;
    boost::beast::flat_buffer buffer;  ///< may hold the begin of the next request
};

HttpServer::HttpServer(const asio::any_io_executor& loop, Listener listener, HttpLimits limits)
    : loop_(loop), listener_(std::move(listener)), limits_(limits), scope_(loop_) {}

HttpServer::~HttpServer() = default;

void HttpServer::route(std::string path, Handler handler) {
    routes_[std::move(path)] = std::move(handler);
}

void HttpServer::start() {
    scope_.spawn("http accept", [this] {
        return listener_.accept_all([this](UniqueFd peer) { take(std::move(peer)); });
    });
}

Task<> HttpServer::stop() {
    stopping_ = true;
    listener_.close();
    for (const auto& connection : connections_) {
        connection->stream.close();
    }
    co_await scope_.close();
}

void HttpServer::take(UniqueFd peer) {
    tcp::socket socket(loop_);
    socket.assign(listener_.address().protocol(), peer.get());
    static_cast<void>(peer.release());
    if (connections_.size() >= limits_.connections) {
        connections_.front()->stream.close();
        connections_.pop_front();
    }
    auto connection =
        std::make_shared<Connection>(std::move(socket), limits_.header_bytes + limits_.body_bytes);
    connections_.push_back(connection);
    scope_.spawn("http connection", [this, connection] { return serve(connection); });
}

Task<> HttpServer::serve(std::shared_ptr<Connection> connection) {
    for (;;) {
        const bool more = co_await serve_one(connection);
        connections_.remove(connection);
        if (!more || stopping_) {
            break;
        }
        connections_.push_back(connection);
    }
    connection->stream.close();
}

Task<bool> HttpServer::serve_one(std::shared_ptr<Connection> connection) {
    auto& stream = connection->stream;
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parser.body_limit(limits_.body_bytes);
    stream.expires_after(limits_.idle);
    const auto [error, read] =
        co_await http::async_read(stream, connection->buffer, parser, as_result);
    const auto refused = error ? status_for(error) : std::nullopt;
    if (error && !refused) {
        co_return false;
    }
    auto response = refused ? make_response(Request{}, plain(*refused))
                            : make_response(parser.get(), answer(parser.get().method_string(),
                                                                 parser.get().target()));
    if (refused) {
        response.keep_alive(false);
    }
    stream.expires_after(limits_.idle);
    const auto [unsent, written] = co_await http::async_write(stream, response, as_result);
    if (refused && !unsent) {
        co_await hear_out(connection);
    }
    co_return !unsent && response.keep_alive();
}

/// Closing while bytes of the peer are unread resets the connection, and the answer with it.
Task<> HttpServer::hear_out(std::shared_ptr<Connection> connection) {
    auto& stream = connection->stream;
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream.expires_after(limits_.hear_out);
    std::array<char, 4096> rubbish{};
    std::size_t heard = 0;
    while (heard < limits_.hear_out_bytes) {
        const auto buffer = asio::buffer(rubbish);
        const auto [error, bytes] = co_await stream.async_read_some(buffer, as_result);
        if (error) {
            co_return;
        }
        heard += bytes;
    }
}

HttpAnswer HttpServer::answer(std::string_view method, std::string_view target) const {
    if (method != "GET" && method != "HEAD") {
        return plain(http::status::method_not_allowed);
    }
    const auto handler = routes_.find(target.substr(0, target.find('?')));
    return handler == routes_.end() ? plain(http::status::not_found) : handler->second();
}

}  // namespace scout::daemon
