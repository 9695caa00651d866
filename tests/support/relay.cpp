// SPDX-License-Identifier: Apache-2.0
#include "tests/support/relay.h"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/write.hpp>

namespace scout::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

struct Relay::Link {
    explicit Link(tcp::socket taken) : near(std::move(taken)), far(near.get_executor()) {}

    void close() {
        error_code ignored;
        near.close(ignored);
        far.close(ignored);
    }

    tcp::socket near;
    tcp::socket far;
    std::array<char, 16384> up{};
    std::array<char, 16384> down{};
};

Relay::Relay(asio::any_io_executor loop, std::uint16_t to)
    : loop_(std::move(loop)),
      acceptor_(loop_, tcp::endpoint{asio::ip::address_v4::loopback(), 0}),
      port_(acceptor_.local_endpoint().port()),
      to_(to) {
    accept();
}

Relay::~Relay() {
    *alive_ = false;
    cut();
}

void Relay::cut() {
    state_ = State::cut;
    for (const auto& link : std::exchange(links_, {})) {
        link->close();
    }
}

void Relay::accept() {
    acceptor_.async_accept([this, alive = alive_](error_code error, tcp::socket socket) {
        if (!*alive || error) {
            return;
        }
        take(std::move(socket));
        accept();
    });
}

void Relay::take(tcp::socket socket) {
    if (state_ == State::cut) {
        return;
    }
    auto link = std::make_shared<Link>(std::move(socket));
    links_.push_back(link);
    if (state_ == State::frozen) {
        return;
    }
    const tcp::endpoint server{asio::ip::address_v4::loopback(), to_};
    link->far.async_connect(server, [this, alive = alive_, link](error_code error) {
        if (!*alive) {
            return;
        }
        if (error) {
            forget(link);
            return;
        }
        pass(link, true);
        pass(link, false);
    });
}

void Relay::pass(const std::shared_ptr<Link>& link, bool forward) {
    auto& from = forward ? link->near : link->far;
    auto& bytes = forward ? link->up : link->down;
    from.async_read_some(asio::buffer(bytes), [this, alive = alive_, link, forward](
                                                  error_code error, std::size_t size) {
        if (!*alive || (state_ == State::frozen && !error)) {
            return;
        }
        if (error) {
            forget(link);
            return;
        }
        auto& to = forward ? link->far : link->near;
        const auto& read = forward ? link->up : link->down;
        asio::async_write(to, asio::buffer(read.data(), size),
                          [this, alive, link, forward](error_code failed, std::size_t) {
                              if (!*alive) {
                                  return;
                              }
                              if (failed) {
                                  forget(link);
                              } else {
                                  pass(link, forward);
                              }
                          });
    });
}

void Relay::forget(const std::shared_ptr<Link>& link) {
    link->close();
    links_.remove(link);
}

}  // namespace scout::test
