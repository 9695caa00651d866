// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "tests/daemon/http_client.h"

namespace scout::test {

/// As talk(), with TLS: to a server that must show a certificate of the authority for the name;
/// "no TLS: " and why, if it does not.
inline Task<std::string> talk_tls(std::uint16_t port, std::string request, std::string authority,
                                  std::string name) {
    namespace ssl = asio::ssl;
    ssl::context context(ssl::context::tls_client);
    context.add_certificate_authority(asio::buffer(authority));
    context.set_verify_mode(ssl::verify_peer);
    ssl::stream<asio::ip::tcp::socket> stream(co_await asio::this_coro::executor, context);
    stream.set_verify_callback(ssl::host_name_verification(name));
    const asio::ip::tcp::endpoint peer{asio::ip::address_v4::loopback(), port};
    co_await stream.lowest_layer().async_connect(peer, asio::use_awaitable);
    const auto [failed] = co_await stream.async_handshake(ssl::stream_base::client, as_result);
    if (failed) {
        co_return "no TLS: " + failed.message();
    }
    co_await asio::async_write(stream, asio::buffer(request), as_result);
    std::string answer;
    co_await asio::async_read(stream, asio::dynamic_buffer(answer), as_result);
    co_return answer;
}

}  // namespace scout::test
