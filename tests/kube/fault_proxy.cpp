// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/fault_proxy.h"

#include <array>
#include <utility>

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace scout::test {

namespace http = boost::beast::http;
using asio::ip::tcp;
using Secure = asio::ssl::stream<tcp::socket>;

namespace {

constexpr std::size_t most_body_bytes = std::size_t{8} << 20U;

Authority::Pem own_certificate() {
    return Authority{"a proxy of a test"}.make("proxy", "localhost");
}

std::string refusal(unsigned status) {
    const std::string body =
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError",)"
        R"("message":"a fault of the test","code":)" +
        std::to_string(status) + "}";
    return "HTTP/1.1 " + std::to_string(status) +
           " Fault\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

/// One connection and, once something was passed on, the one behind it. Answers come back as they
/// are: nobody asks for a second before the first is complete.
struct FaultProxy::Link {
    Link(tcp::socket taken, asio::ssl::context& near_context, asio::ssl::context& far_context)
        : near(std::move(taken), near_context), far(near.get_executor(), far_context) {}
    void close() {
        boost::system::error_code ignored;
        near.lowest_layer().close(ignored);
        far.lowest_layer().close(ignored);
    }

    Secure near;
    Secure far;
    bool connected = false;
    http::request<http::string_body> request;
};

FaultProxy::FaultProxy(asio::io_context& loop, kube::ClusterAccess behind)
    : behind_(std::move(behind)),
      own_(own_certificate()),
      near_context_(asio::ssl::context::tls_server),
      far_context_(asio::ssl::context::tls_client),
      acceptor_(loop, tcp::endpoint{asio::ip::address_v4::loopback(), 0}),
      background_(loop) {
    near_context_.use_certificate_chain(asio::buffer(own_.certificate));
    near_context_.use_private_key(asio::buffer(own_.key), asio::ssl::context::pem);
    far_context_.use_certificate_chain(asio::buffer(behind_.client_certificate.text));
    far_context_.use_private_key(asio::buffer(behind_.client_key.text), asio::ssl::context::pem);
    background_.spawn([this] { return accept(); });
}

kube::ClusterAccess FaultProxy::access() const {
    auto access = by_way_of(behind_, acceptor_.local_endpoint().port());
    access.authority.text = own_.ca;
    access.client_certificate = {};
    access.client_key = {};
    return access;
}

Task<> FaultProxy::accept() {
    for (;;) {
        auto [error, socket] = co_await acceptor_.async_accept(as_result);
        if (error) {
            co_return;
        }
        auto link = std::make_shared<Link>(std::move(socket), near_context_, far_context_);
        background_.spawn([this, link] { return serve(link); });
    }
}

Task<> FaultProxy::serve(std::shared_ptr<Link> link) {
    const auto [unsafe] = co_await link->near.async_handshake(Secure::server, as_result);
    boost::beast::flat_buffer buffer;
    bool goes_on = !unsafe;
    while (goes_on) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(most_body_bytes);
        const auto [ended, size] = co_await http::async_read(link->near, buffer, parser, as_result);
        if (ended) {
            break;
        }
        link->request = parser.release();
        goes_on = co_await pass_on(link);
    }
    link->close();
}

Task<bool> FaultProxy::pass_on(std::shared_ptr<Link> link) {
    Call call{.method = std::string{link->request.method_string()},
              .target = std::string{link->request.target()}};
    const auto fate = fate_(call);
    asio::steady_timer timer(link->near.get_executor(), fate.delay);
    const auto [stopped] = co_await timer.async_wait(as_result);
    if (stopped) {
        co_return false;
    }
    if (fate.status != 0) {
        ++refused_;
        const auto text = refusal(fate.status);
        const auto [failed, size] =
            co_await asio::async_write(link->near, asio::buffer(text), as_result);
        co_return !failed;
    }
    const bool connected = co_await connect(link);
    if (!connected) {
        co_return false;
    }
    passed_.push_back(std::move(call));
    const auto [failed, size] = co_await http::async_write(link->far, link->request, as_result);
    co_return !failed;
}

Task<bool> FaultProxy::connect(std::shared_ptr<Link> link) {
    if (link->connected) {
        co_return true;
    }
    const tcp::endpoint server{asio::ip::address_v4::loopback(), behind_.server.port};
    const auto [absent] = co_await link->far.lowest_layer().async_connect(server, as_result);
    if (absent) {
        co_return false;
    }
    const auto [unsafe] = co_await link->far.async_handshake(Secure::client, as_result);
    if (unsafe) {
        co_return false;
    }
    link->connected = true;
    background_.spawn([this, link] { return bring_answers(link); });
    co_return true;
}

Task<> FaultProxy::bring_answers(std::shared_ptr<Link> link) {
    std::array<char, 16384> bytes{};
    for (;;) {
        const auto [ended, size] =
            co_await link->far.async_read_some(asio::buffer(bytes), as_result);
        if (ended) {
            break;
        }
        const auto [failed, sent] =
            co_await asio::async_write(link->near, asio::buffer(bytes.data(), size), as_result);
        if (failed) {
            break;
        }
    }
    link->close();
}

}  // namespace scout::test
