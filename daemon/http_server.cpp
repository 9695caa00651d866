// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_server.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/logging.h"
#include "daemon/http_connection.h"
#include "daemon/server_tls.h"

namespace scout::daemon {
namespace {

namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Response = HttpConnection::Response;

tl::unexpected<Error> wrong_address(std::string_view text) {
    return fail(Errc::invalid,
                "expected an address and a port such as '127.0.0.1:9291' or '[::1]:9291', found " +
                    log_value(text));
}

/// Status for a request that could not be read; nothing for one that was, or a peer that went away.
std::optional<http::status> status_for(const error_code& error) {
    if (!error) {
        return std::nullopt;
    }
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

HttpAnswer plain(http::status status, HttpHeaders headers = {}) {
    return {.status = static_cast<unsigned>(status),
            .body = std::string{http::obsolete_reason(status)} + "\n",
            .headers = std::move(headers)};
}

/// What of a request shapes the bytes of its answer.
struct Manner {
    unsigned version = 11;
    bool keep_alive = false;
    bool head = false;
};

Response make_response(Manner manner, HttpAnswer answer) {
    Response response;
    response.version(manner.version);
    response.result(answer.status);
    response.set(http::field::content_type, answer.content_type);
    response.set(http::field::cache_control, "no-store");
    for (const auto& [name, value] : answer.headers) {
        response.set(name, value);
    }
    response.keep_alive(manner.keep_alive);
    response.body() = std::move(answer.body);
    response.prepare_payload();
    if (manner.head) {
        response.body().clear();
    }
    return response;
}

HttpRequest make_request(http::request<http::string_body> message) {
    const std::string_view target = message.target();
    const auto question = std::min(target.find('?'), target.size());
    HttpRequest request{.method = std::string{message.method_string()},
                        .path = std::string{target.substr(0, question)},
                        .query = std::string{target.substr(std::min(question + 1, target.size()))},
                        .headers = {},
                        .body = std::move(message.body()),
                        .client = {}};
    for (const auto& field : message) {
        request.headers.emplace_back(field.name_string(), field.value());
    }
    return request;
}

HttpAnswer wrong_method(
    const std::map<std::string, HttpServer::AsyncHandler, std::less<>>& routes) {
    std::string allowed;
    for (const auto& [method, handler] : routes) {
        allowed +=
            (allowed.empty() ? "" : ", ") + std::string{method == "GET" ? "GET, HEAD" : method};
    }
    return plain(http::status::method_not_allowed, {{"Allow", allowed}});
}

Task<HttpAnswer> at_once(HttpAnswer answer) {
    co_return answer;
}

Manner manner_of(const http::request<http::string_body>& message) {
    return {.version = message.version(),
            .keep_alive = message.keep_alive(),
            .head = message.method() == http::verb::head};
}

/// A part of what all share, taken as long as it lives.
class Share {
public:
    explicit Share(std::size_t& all) : all_(all) {}
    ~Share() { all_ -= part_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    Share(Share&&) = delete;
    Share& operator=(Share&&) = delete;

    void set(std::size_t part) {
        all_ += part - part_;
        part_ = part;
    }

private:
    std::size_t& all_;
    std::size_t part_ = 0;
};

/// Ends a connection with the coroutine that serves it, however that ends.
class Leave {
public:
    using Connection = std::shared_ptr<HttpConnection>;

    Leave(std::list<Connection>& all, Connection connection)
        : all_(all), connection_(std::move(connection)) {}
    ~Leave() {
        all_.remove(connection_);
        connection_->close();
    }
    Leave(const Leave&) = delete;
    Leave& operator=(const Leave&) = delete;
    Leave(Leave&&) = delete;
    Leave& operator=(Leave&&) = delete;

private:
    std::list<Connection>& all_;
    Connection connection_;
};

std::string client_of(HttpConnection& connection, const ClientAuthorities* authorities) {
    return authorities == nullptr ? std::string{} : connection.client(*authorities);
}

std::string_view method_of(const HttpRequest& request) {
    return request.method == "HEAD" ? std::string_view{"GET"} : std::string_view{request.method};
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
                                                       std::string_view address, HttpLimits limits,
                                                       HttpSecurity security) {
    const auto endpoint = parse_listen_address(address);
    if (!endpoint) {
        return fail(endpoint.error());
    }
    auto listener = Listener::at(loop, *endpoint);
    if (!listener) {
        return fail(std::move(listener.error()));
    }
    return std::make_unique<HttpServer>(loop, std::move(*listener), limits, security);
}

std::string_view HttpRequest::header(std::string_view name) const noexcept {
    const auto found = std::find_if(headers.begin(), headers.end(), [name](const auto& header) {
        return boost::beast::iequals(header.first, name);
    });
    return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

HttpServer::HttpServer(const asio::any_io_executor& loop, Listener listener, HttpLimits limits,
                       HttpSecurity security)
    : loop_(loop),
      listener_(std::move(listener)),
      limits_(limits),
      security_(security),
      scope_(loop_) {}

HttpServer::~HttpServer() = default;

void HttpServer::route(std::string path, Handler handler) {
    route("GET", std::move(path), [handler = std::move(handler)](const HttpRequest& /*request*/) {
        return at_once(handler());
    });
}

void HttpServer::route(std::string method, std::string path, AsyncHandler handler) {
    routes_[std::move(path)][std::move(method)] = std::move(handler);
}

Status HttpServer::use(const CertifiedKey& certificate) {
    auto context = make_server_tls(certificate);
    if (!context) {
        return fail(std::move(context.error()));
    }
    tls_ = *std::move(context);
    return {};
}

Status HttpServer::use_client_authorities(std::string_view pem) {
    client_authorities_.reset();
    if (pem.empty()) {
        return {};
    }
    return ClientAuthorities::read(pem).map([this](ClientAuthorities&& read) {
        client_authorities_ = std::make_unique<ClientAuthorities>(std::move(read));
    });
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
        connection->close();
    }
    co_await scope_.close();
}

void HttpServer::take(UniqueFd peer) {
    if (security_ == HttpSecurity::tls && !tls_) {
        return;
    }
    tcp::socket socket(loop_);
    socket.assign(listener_.address().protocol(), peer.get());
    static_cast<void>(peer.release());
    if (connections_.size() >= limits_.connections) {
        connections_.front()->close();
        connections_.pop_front();
    }
    auto connection = std::make_shared<HttpConnection>(
        std::move(socket), security_ == HttpSecurity::tls ? tls_ : nullptr, limits_.header_bytes);
    connections_.push_back(connection);
    scope_.spawn("http connection", [this, connection] { return serve(connection); });
}

Task<> HttpServer::serve(Connection connection) {
    const Leave leave(connections_, connection);
    const auto failed = co_await connection->shake_hands(limits_.idle);
    bool more = !failed;
    while (more && !stopping_) {
        connections_.remove(connection);
        connections_.push_back(connection);
        more = co_await serve_one(connection);
    }
}

Task<bool> HttpServer::serve_one(Connection connection) {
    HttpConnection::Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parser.body_limit(limits_.body_bytes);
    auto error = co_await connection->read_head(&parser, limits_.idle);
    Share share(bodies_bytes_);
    std::optional<HttpAnswer> refused;
    if (!error && !parser.is_done()) {
        refused = unwanted(parser.get().method_string(), parser.get().target());
    }
    if (!error && !refused) {
        std::function<bool(std::size_t)> crowded = [this, &share](std::size_t came) {
            share.set(came);
            return bodies_bytes_ > limits_.all_bodies_bytes;
        };
        error = co_await connection->read_body(&parser, limits_.body, std::move(crowded));
    }
    if (const auto status = status_for(error)) {
        refused = plain(*status);
    } else if (!error && !refused && !parser.is_done()) {
        refused = plain(http::status::service_unavailable);
        ++crowded_out_;
    }
    if (refused) {
        // What came of the body is of no use while the peer is heard out.
        static_cast<void>(parser.release());
        share.set(0);
        co_await refuse(connection, std::move(*refused));
        co_return false;
    }
    if (error) {
        co_return false;
    }
    const Manner manner = manner_of(parser.get());
    auto request = make_request(parser.release());
    request.client = client_of(*connection, client_authorities_.get());
    auto said = co_await answer(std::move(request));
    auto response = make_response(manner, std::move(said));
    error = co_await connection->write(&response, limits_.idle);
    co_return !error && manner.keep_alive;
}

Task<> HttpServer::refuse(Connection connection, HttpAnswer said) {
    auto response = make_response({}, std::move(said));
    const auto unsent = co_await connection->write(&response, limits_.idle);
    if (!unsent) {
        co_await connection->hear_out(limits_.hear_out, limits_.hear_out_bytes);
    }
}

/// What there is to say where nobody answers.
std::optional<HttpAnswer> HttpServer::unwanted(std::string_view method,
                                               std::string_view target) const {
    const auto* handlers = handlers_of(target.substr(0, target.find('?')));
    if (handlers == nullptr) {
        return plain(http::status::not_found);
    }
    const bool known = handlers->contains(method == "HEAD" ? "GET" : method);
    return known ? std::nullopt : std::optional{wrong_method(*handlers)};
}

/// Of two paths that a request is below, the longer one is the later one.
const HttpServer::Handlers* HttpServer::handlers_of(std::string_view path) const {
    const Handlers* found = nullptr;
    for (const auto& [route, handlers] : routes_) {
        if (route == path || (route.ends_with('/') && path.starts_with(route))) {
            found = &handlers;
        }
    }
    return found;
}

Task<HttpAnswer> HttpServer::answer(HttpRequest request) const {
    if (auto said = unwanted(request.method, request.path)) {
        co_return std::move(*said);
    }
    const auto* handlers = handlers_of(request.path);
    const auto handler = handlers->find(method_of(request));
    co_return co_await handler->second(std::move(request));
}

}  // namespace scout::daemon
