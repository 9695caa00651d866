// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace scout::test {

/// A way to a server that a test may cut: passes bytes between its own loopback port and another.
/// On the test's loop, which must have run out of it before the loop ends.
class Relay {
public:
    Relay(boost::asio::any_io_executor loop, std::uint16_t to);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    Relay(Relay&&) = delete;
    Relay& operator=(Relay&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Breaks what is open; what comes is broken too, until mend().
    void cut();
    /// Nothing passes any more and nobody is told, as when the other machine is gone; connections
    /// that stood still stay so after mend().
    void freeze() noexcept { state_ = State::frozen; }
    void mend() noexcept { state_ = State::open; }

private:
    enum class State : std::uint8_t { open, cut, frozen };
    struct Link;

    void accept();
    void take(boost::asio::ip::tcp::socket socket);
    void pass(const std::shared_ptr<Link>& link, bool forward);
    void forget(const std::shared_ptr<Link>& link);

    boost::asio::any_io_executor loop_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_;
    std::uint16_t to_;
    State state_ = State::open;
    std::list<std::shared_ptr<Link>> links_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace scout::test
