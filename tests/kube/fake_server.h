// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/task.h"
#include "tests/wire/certificates.h"

namespace scout::test {

/// A request as the fake server got it.
struct SeenRequest {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  ///< names in lower case
    std::string body;
    unsigned connection = 0;  ///< which one, from 1
    std::string server_name;  ///< SNI
    std::string peer;         ///< common name of the client's certificate
};

/// The other end of one connection, for a handler that answers in its own way.
class Peer {
public:
    Peer() = default;
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    Peer(Peer&&) = delete;
    Peer& operator=(Peer&&) = delete;

    virtual void say(std::string_view bytes) = 0;
    /// Says nothing until the client or the server goes away.
    virtual void stay_silent() = 0;
    /// Becomes a pipe to a port of this machine until either end closes.
    virtual void tunnel(std::uint16_t port) = 0;
};

/// HTTP bytes of a whole answer; headers are lines with their ends.
[[nodiscard]] std::string answer(unsigned status, std::string_view body,
                                 std::string_view headers = {});
/// The head of a chunked answer, and one chunk of it; an empty chunk ends it.
[[nodiscard]] std::string chunked_head(unsigned status = 200);
[[nodiscard]] std::string chunk(std::string_view bytes);

/// An HTTP or HTTPS server on a free loopback port that answers what the test says, in threads of
/// its own, a blocking one for each connection.
class FakeServer {
public:
    /// False: the connection is closed.
    using Handler = std::function<bool(Peer&, const SeenRequest&)>;
    struct Tls {
        Authority::Pem own;
        std::string client_authority;  ///< PEM; empty: clients need no certificate
    };

    explicit FakeServer(Handler handler, std::optional<Tls> tls = std::nullopt);
    ~FakeServer();
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;
    FakeServer(FakeServer&&) = delete;
    FakeServer& operator=(FakeServer&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::vector<SeenRequest> requests() const;
    [[nodiscard]] unsigned connections() const;
    /// How many of them the server has closed: whoever is at the other end can know it then.
    [[nodiscard]] unsigned closed() const;
    /// From the next connection on.
    void use_certificate(const Tls& tls);

private:
    class Connection;
    template <class Stream>
    class ConnectionOf;

    void accept_all();
    void serve(std::unique_ptr<Connection> connection, unsigned number);

    Handler handler_;
    asio::io_context context_;
    asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_;
    mutable std::mutex lock_;
    std::optional<Tls> tls_;
    bool stopping_ = false;
    unsigned connections_ = 0;
    std::vector<SeenRequest> requests_;
    std::list<int> descriptors_;
    std::vector<std::thread> threads_;
    std::thread acceptor_thread_;
};

}  // namespace scout::test
