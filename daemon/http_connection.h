// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/task.h"
#include "daemon/server_tls.h"

namespace scout::daemon {

/// The bytes of one connection to an HttpServer, as messages. Loop thread only, one operation at a
/// time, each within its limit; what it is given must outlive the call.
class HttpConnection {
public:
    using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
    using Response = boost::beast::http::response<boost::beast::http::string_body>;
    using Limit = std::chrono::milliseconds;

    /// Without `tls` the peer is talked to as it is.
    HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<ServerTls> tls,
                   std::size_t header_bytes);

    /// Nothing to do without TLS.
    [[nodiscard]] Task<boost::system::error_code> shake_hands(Limit limit);
    [[nodiscard]] Task<boost::system::error_code> read_head(Parser* request, Limit limit);
    /// Ends early, without an error, once `enough` says so of the bytes that came; asked after each
    /// piece.
    [[nodiscard]] Task<boost::system::error_code> read_body(
        Parser* request, Limit limit, std::function<bool(std::size_t)> enough);
    [[nodiscard]] Task<boost::system::error_code> write(Response* response, Limit limit);
    /// Takes what the peer still says, and leaves it there. Closing while bytes of the peer are
    /// unread resets the connection, and the answer with it.
    [[nodiscard]] Task<> hear_out(Limit limit, std::size_t most_bytes);
    /// Ends what is going on, too.
    void close() { tcp_.close(); }

    /// As ClientAuthorities has it; nobody without TLS, and before the hands are shaken.
    [[nodiscard]] std::string client(const ClientAuthorities& authorities);

private:
    boost::beast::tcp_stream tcp_;
    std::shared_ptr<ServerTls> made_with_;  ///< tls_
    std::optional<ServerTlsStream> tls_;
    boost::beast::flat_buffer buffer_;  ///< may hold the begin of the next request
};

}  // namespace scout::daemon
