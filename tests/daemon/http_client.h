// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include "base/task.h"

namespace scout::test {

/// Sends the bytes to a local port and answers everything that comes until the peer closes.
inline Task<std::string> talk(std::uint16_t port, std::string request) {
    asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
    const asio::ip::tcp::endpoint peer{asio::ip::address_v4::loopback(), port};
    co_await socket.async_connect(peer, asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(request), as_result);
    std::string answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer), as_result);
    co_return answer;
}

inline std::string get(const std::string& path, const std::string& method = "GET") {
    return method + " " + path + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
}

}  // namespace scout::test
