// SPDX-License-Identifier: Apache-2.0
#include "daemon/listener.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/logging.h"
#include "base/system_text.h"

namespace scout::daemon {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds accept_pause{100};
/// A minute of pauses.
constexpr unsigned pauses_for_each_warning = 600;

UniqueFd open_socket(int family) {
    return UniqueFd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

void set_option(const UniqueFd& socket, int level, int name, int value) {
    static_cast<void>(::setsockopt(socket.get(), level, name, &value, sizeof(value)));
}

tl::unexpected<Error> cannot_listen(const std::string& where, int error) {
    return fail(Errc::unavailable, "cannot listen on " + where + ": " + system_text(error));
}

/// What goes wrong with one connection must not end the accepting of all others.
void give(const Listener::Take& take, UniqueFd peer) {
    try {
        take(std::move(peer));
    } catch (const std::exception& error) {
        spdlog::error("connection dropped reason={}", log_value(error.what()));
    }
}

/// Nothing that the next connection would meet too: this one is gone or its network is (accept(2)),
/// or there is none after all.
bool is_passing(int error) {
    switch (error) {
        case EAGAIN:
        case EINTR:
        case ECONNABORTED:
        case EPROTO:
        case ENOPROTOOPT:
        case ENETDOWN:
        case ENETUNREACH:
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case ENONET:
        case EOPNOTSUPP:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::string to_text(const tcp::endpoint& address) {
    const auto host = address.address().to_string();
    return (address.address().is_v6() ? "[" + host + "]" : host) + ":" +
           std::to_string(address.port());
}

Result<Listener> Listener::at(const asio::any_io_executor& loop, const tcp::endpoint& address,
                              std::chrono::milliseconds silence) {
    auto socket = open_socket(address.data()->sa_family);
    if (!socket) {
        const int error = errno;
        return cannot_listen(to_text(address), error);
    }
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    // Accepted sockets inherit these.
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
    if (address.address().is_v6()) {
        set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    auto bound = address;
    auto size = static_cast<socklen_t>(bound.capacity());
    if (::bind(socket.get(), address.data(), static_cast<socklen_t>(address.size())) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0 ||
        ::getsockname(socket.get(), bound.data(), &size) != 0) {
        const int error = errno;
        return error == EADDRINUSE
                   ? fail(Errc::unavailable, "cannot listen on " + to_text(address) +
                                                 ": the port is in use by another program; stop it "
                                                 "or choose another port")
                   : cannot_listen(to_text(address), error);
    }
    return watch(loop, std::move(socket), bound);
}

Result<Listener> Listener::at(const asio::any_io_executor& loop, const std::string& path,
                              mode_t mode) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return cannot_listen(path, ENAMETOOLONG);
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    auto socket = open_socket(AF_UNIX);
    // sockaddr_un is passed as sockaddr: the form of the system call. Until it listens nobody can
    // connect, whatever its mode.
    if (!socket ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::chmod(path.c_str(), mode) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
        return cannot_listen(path, errno);
    }
    return watch(loop, std::move(socket), {});
}

Result<Listener> Listener::watch(const asio::any_io_executor& loop, UniqueFd socket,
                                 const tcp::endpoint& address) {
    asio::posix::stream_descriptor watched(loop);
    boost::system::error_code error;
    watched.assign(socket.get(), error);
    if (error) {
        return fail(Errc::unavailable, "cannot wait for connections: " + error.message());
    }
    static_cast<void>(socket.release());
    return Listener{std::move(watched), address};
}

Task<> Listener::accept_all(Take take) {
    asio::steady_timer pause(socket_.get_executor());
    unsigned pauses = 0;
    for (;;) {
        const auto [ended] =
            co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
        if (ended || !socket_.is_open()) {
            co_return;
        }
        UniqueFd peer{
            ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (peer) {
            give(take, std::move(peer));
            continue;
        }
        const int error = errno;
        if (is_passing(error)) {
            continue;
        }
        if (pauses++ % pauses_for_each_warning == 0) {
            spdlog::warn("connections have to wait reason={}", log_value(system_text(error)));
        }
        // Out of descriptors, most likely: accepting again at once would spin.
        pause.expires_after(accept_pause);
        const auto [cancelled] = co_await pause.async_wait(as_result);
        if (cancelled) {
            co_return;
        }
    }
}

void Listener::close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace scout::daemon
