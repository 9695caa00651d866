// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/types.h>

#include "base/result.h"
#include "base/task.h"
#include "base/unique_fd.h"

namespace scout::daemon {

/// "127.0.0.1:9291", "[::1]:9291"
[[nodiscard]] std::string to_text(const asio::ip::tcp::endpoint& address);

/// A listening socket and the accepting there. What fails for want of file descriptors or memory
/// is tried again until it succeeds. Moves until it accepts; loop thread.
class Listener {
public:
    /// Gets each connection: not blocking, closed on exec. What it throws is logged.
    using Take = std::function<void(UniqueFd)>;

    /// Port 0 lets the kernel choose; [::] takes IPv4 too. `silence`: a connection whose peer
    /// acknowledges nothing of what was sent for so long is ended by the kernel (TCP_USER_TIMEOUT);
    /// 0: by nobody. Errc::unavailable in one sentence if the address cannot be bound: in use, not
    /// ours, no right.
    [[nodiscard]] static Result<Listener> at(
        const asio::any_io_executor& loop, const asio::ip::tcp::endpoint& address,
        std::chrono::milliseconds silence = std::chrono::milliseconds{0});
    /// A unix socket that never was open to more than `mode` says. Errc::unavailable if it cannot
    /// be made there: too long a path, something is there already.
    [[nodiscard]] static Result<Listener> at(const asio::any_io_executor& loop,
                                             const std::string& path, mode_t mode);

    /// The address with the port that is bound; of a unix socket it says nothing.
    [[nodiscard]] const asio::ip::tcp::endpoint& address() const noexcept { return address_; }

    /// Until it is cancelled or closed.
    [[nodiscard]] Task<> accept_all(Take take);
    /// No more connections are queued either.
    void close();

private:
    Listener(asio::posix::stream_descriptor socket, asio::ip::tcp::endpoint address)
        : socket_(std::move(socket)), address_(std::move(address)) {}
    [[nodiscard]] static Result<Listener> watch(const asio::any_io_executor& loop, UniqueFd socket,
                                                const asio::ip::tcp::endpoint& address);

    asio::posix::stream_descriptor socket_;
    asio::ip::tcp::endpoint address_;
};

}  // namespace scout::daemon
