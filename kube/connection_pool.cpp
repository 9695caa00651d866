// SPDX-License-Identifier: Apache-2.0
#include "kube/connection_pool.h"

#include <algorithm>
#include <string>

namespace scout::kube {

/// A waiter's entry; gives the place on if its owner goes away after it was admitted.
class ConnectionPool::Waiting {
public:
    Waiting(ConnectionPool& pool, std::chrono::milliseconds limit) : pool_(pool) {
        pool_.waiters_.push_back({.timer = asio::steady_timer(pool_.loop_, limit)});
        waiter_ = std::prev(pool_.waiters_.end());
    }
    ~Waiting() {
        const bool unused = waiter_->admitted;
        pool_.waiters_.erase(waiter_);
        if (unused) {
            pool_.leave();
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Waiting(Waiting&&) = delete;
    Waiting& operator=(Waiting&&) = delete;

    [[nodiscard]] asio::steady_timer& timer() { return waiter_->timer; }
    /// True once: the place is the caller's now.
    [[nodiscard]] bool accept() { return std::exchange(waiter_->admitted, false); }

private:
    ConnectionPool& pool_;
    std::list<Waiter>::iterator waiter_;
};

ConnectionPool::ConnectionPool(asio::any_io_executor loop, const Clock& clock, Limits limits)
    : loop_(std::move(loop)), clock_(clock), limits_(limits), timer_(loop_) {}

Task<Result<ConnectionPool::Place>> ConnectionPool::enter(Deadline deadline) {
    if (busy_ < limits_.places) {
        ++busy_;
        co_return Place(shared_from_this());
    }
    Waiting waiting(*this, deadline.left());
    const auto [error] = co_await waiting.timer().async_wait(as_result);
    if (waiting.accept()) {
        co_return Place(shared_from_this());
    }
    if (error) {
        co_return fail(Errc::cancelled, "gave up waiting for a connection");
    }
    co_return fail(Errc::timed_out, "all " + std::to_string(limits_.places) +
                                        " connections were busy for " +
                                        std::to_string(deadline.limit().count()) + " ms");
}

void ConnectionPool::leave() {
    const auto next = std::find_if(waiters_.begin(), waiters_.end(),
                                   [](const auto& waiter) { return !waiter.admitted; });
    if (next == waiters_.end()) {
        --busy_;
        return;
    }
    next->admitted = true;
    next->timer.cancel();
}

std::unique_ptr<Connection> ConnectionPool::take(std::uint64_t tls_version) {
    close_old();
    while (!kept_.empty()) {
        // The one used last: the others may grow old.
        auto connection = std::move(kept_.back().connection);
        kept_.pop_back();
        if (connection->tls_version() == tls_version && connection->is_quiet()) {
            return connection;
        }
    }
    return nullptr;
}

void ConnectionPool::keep(std::unique_ptr<Connection> connection) {
    if (limits_.idle.count() > 0 && kept_.size() < limits_.places) {
        kept_.push_back(
            {.connection = std::move(connection), .until = clock_.steady() + limits_.idle});
        schedule();
    }
}

void ConnectionPool::close_all() noexcept {
    kept_.clear();
    timer_.cancel();
}

void ConnectionPool::close_old() {
    const auto now = clock_.steady();
    while (!kept_.empty() && kept_.front().until <= now) {
        kept_.pop_front();
    }
}

void ConnectionPool::schedule() {
    if (scheduled_ || kept_.empty()) {
        return;
    }
    scheduled_ = true;
    timer_.expires_after(kept_.front().until - clock_.steady());
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        if (const auto pool = weak.lock()) {
            pool->scheduled_ = false;
            if (!error) {
                pool->close_old();
            }
            pool->schedule();
        }
    });
}

}  // namespace scout::kube
