// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/places.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/connection.h"
#include "kube/deadline.h"

namespace scout::kube {

/// The kept-alive connections to one server, and how many requests may be under way at once.
///
/// Connections that were not used for a while are closed. Loop thread only, owned by shared_ptr;
/// the clock must outlive it.
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
public:
    struct Limits {
        std::size_t places = 8;
        std::chrono::milliseconds idle = std::chrono::seconds{60};  ///< 0: nothing is kept
    };

    ConnectionPool(asio::any_io_executor loop, const Clock& clock, Limits limits);

    /// The right to have one request under way. Errors: timed_out, cancelled.
    [[nodiscard]] Task<Result<Places::Place>> enter(Deadline deadline);

    /// A kept connection that was made with this TlsContext and is still good; null if there is
    /// none. Those that are not good any more are closed.
    [[nodiscard]] std::unique_ptr<Connection> take(std::uint64_t tls_version);
    void keep(std::unique_ptr<Connection> connection);
    void close_all() noexcept;
    [[nodiscard]] std::size_t kept() const noexcept { return kept_.size(); }

private:
    struct Kept {
        std::unique_ptr<Connection> connection;
        SteadyTime until;
    };

    void close_old();
    void schedule();

    asio::any_io_executor loop_;
    const Clock& clock_;
    Limits limits_;
    std::shared_ptr<Places> places_;
    std::list<Kept> kept_;  ///< the longest unused first
    asio::steady_timer timer_;
    bool scheduled_ = false;
};

}  // namespace scout::kube
