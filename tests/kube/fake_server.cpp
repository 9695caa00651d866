// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/fake_server.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

namespace scout::test {
namespace {

namespace http = boost::beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = ssl::stream<tcp::socket>;

ssl::context make_context(const FakeServer::Tls& tls) {
    ssl::context context(ssl::context::tls_server);
    context.use_certificate_chain(asio::buffer(tls.own.certificate));
    context.use_private_key(asio::buffer(tls.own.key), ssl::context::pem);
    if (!tls.client_authority.empty()) {
        context.add_certificate_authority(asio::buffer(tls.client_authority));
        context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    }
    return context;
}

std::string peer_name(SSL* session) {
    X509* const certificate = SSL_get0_peer_certificate(session);
    std::array<char, 256> name{};
    if (certificate != nullptr) {
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                                  static_cast<int>(name.size()));
    }
    return name.data();
}

void wait_for_end(int descriptor) {
    pollfd watch{.fd = descriptor, .events = POLLRDHUP, .revents = 0};
    while (::poll(&watch, 1, -1) < 0 && errno == EINTR) {
    }
}

/// Carries bytes until either end closes.
void pump(int left, int right) {
    std::array<pollfd, 2> ends{pollfd{.fd = left, .events = POLLIN, .revents = 0},
                               pollfd{.fd = right, .events = POLLIN, .revents = 0}};
    std::array<char, 16384> bytes{};
    while (::poll(ends.data(), ends.size(), -1) > 0) {
        for (const std::size_t from : {0U, 1U}) {
            if (ends.at(from).revents == 0) {
                continue;
            }
            const auto got = ::recv(ends.at(from).fd, bytes.data(), bytes.size(), 0);
            if (got <= 0 || ::send(ends.at(1 - from).fd, bytes.data(),
                                   static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
                return;
            }
        }
    }
}

}  // namespace

std::string answer(unsigned status, std::string_view body, std::string_view headers) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
           std::string{headers} + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string{body};
}

std::string chunked_head(unsigned status) {
    return "HTTP/1.1 " + std::to_string(status) +
           " X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string chunk(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string size;
    for (auto left = bytes.size(); left > 0 || size.empty(); left /= 16) {
        size.insert(size.begin(), digits[left % 16]);
    }
    return size + "\r\n" + std::string{bytes} + "\r\n";
}

class FakeServer::Connection : public Peer {
public:
    virtual bool begin(SeenRequest& seen) = 0;
    virtual bool read(SeenRequest& seen) = 0;
    [[nodiscard]] virtual int descriptor() = 0;

    void stay_silent() override { wait_for_end(descriptor()); }
    void tunnel(std::uint16_t port) override {
        asio::io_context context;
        tcp::socket other(context);
        error_code error;
        other.connect({asio::ip::address_v4::loopback(), port}, error);
        if (!error) {
            pump(descriptor(), other.native_handle());
        }
    }
};

template <class Stream>
class FakeServer::ConnectionOf final : public FakeServer::Connection {
public:
    ConnectionOf(tcp::socket socket, std::shared_ptr<ssl::context> context)
        : context_(std::move(context)), stream_(make(std::move(socket), context_.get())) {}

    bool begin(SeenRequest& seen) override {
        error_code error;
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_.handshake(ssl::stream_base::server, error);
            const char* name =
                SSL_get_servername(stream_.native_handle(), TLSEXT_NAMETYPE_host_name);
            seen.server_name = name == nullptr ? "" : name;
            seen.peer = peer_name(stream_.native_handle());
        }
        return !error;
    }

    bool read(SeenRequest& seen) override {
        http::request_parser<http::string_body> parser;
        parser.body_limit(boost::none);
        error_code error;
        http::read(stream_, buffer_, parser, error);
        if (error) {
            return false;
        }
        auto request = parser.release();
        seen.method = std::string{request.method_string()};
        seen.target = std::string{request.target()};
        seen.headers.clear();
        for (const auto& field : request) {
            std::string name{field.name_string()};
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            auto& value = seen.headers[name];
            value += (value.empty() ? "" : ",") + std::string{field.value()};
        }
        seen.body = std::move(request.body());
        return true;
    }

    void say(std::string_view bytes) override {
        error_code ignored;
        asio::write(stream_, asio::buffer(bytes), ignored);
    }

    int descriptor() override { return stream_.lowest_layer().native_handle(); }

private:
    static Stream make(tcp::socket socket, ssl::context* context) {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            return TlsStream(std::move(socket), *context);
        } else {
            return socket;
        }
    }

    std::shared_ptr<ssl::context> context_;
    Stream stream_;
    boost::beast::flat_buffer buffer_;
};

FakeServer::FakeServer(Handler handler, std::optional<Tls> tls)
    : handler_(std::move(handler)),
      acceptor_(context_, tcp::endpoint{asio::ip::address_v4::loopback(), 0}),
      port_(acceptor_.local_endpoint().port()),
      tls_(std::move(tls)),
      acceptor_thread_([this] { accept_all(); }) {}

FakeServer::~FakeServer() {
    {
        const std::lock_guard guard(lock_);
        stopping_ = true;
        ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
        for (const int descriptor : descriptors_) {
            ::shutdown(descriptor, SHUT_RDWR);
        }
    }
    acceptor_thread_.join();
    for (auto& thread : threads_) {
        thread.join();
    }
}

std::vector<SeenRequest> FakeServer::requests() const {
    const std::lock_guard guard(lock_);
    return requests_;
}

unsigned FakeServer::connections() const {
    const std::lock_guard guard(lock_);
    return connections_;
}

unsigned FakeServer::closed() const {
    const std::lock_guard guard(lock_);
    return connections_ - static_cast<unsigned>(descriptors_.size());
}

void FakeServer::use_certificate(const Tls& tls) {
    const std::lock_guard guard(lock_);
    tls_ = tls;
}

void FakeServer::accept_all() {
    for (;;) {
        tcp::socket socket(context_);
        error_code error;
        acceptor_.accept(socket, error);
        const std::lock_guard guard(lock_);
        if (error || stopping_) {
            return;
        }
        std::unique_ptr<Connection> connection;
        if (tls_) {
            auto context = std::make_shared<ssl::context>(make_context(*tls_));
            connection =
                std::make_unique<ConnectionOf<TlsStream>>(std::move(socket), std::move(context));
        } else {
            connection = std::make_unique<ConnectionOf<tcp::socket>>(std::move(socket), nullptr);
        }
        ++connections_;
        descriptors_.push_back(connection->descriptor());
        threads_.emplace_back([this, number = connections_, raw = connection.release()] {
            serve(std::unique_ptr<Connection>(raw), number);
        });
    }
}

void FakeServer::serve(std::unique_ptr<Connection> connection, unsigned number) {
    SeenRequest seen{.connection = number};
    bool going = connection->begin(seen);
    while (going && connection->read(seen)) {
        {
            const std::lock_guard guard(lock_);
            requests_.push_back(seen);
        }
        going = handler_(*connection, seen);
    }
    const std::lock_guard guard(lock_);
    descriptors_.remove(connection->descriptor());
    connection.reset();
}

}  // namespace scout::test
