// SPDX-License-Identifier: Apache-2.0
#include "kube/connection_pool.h"

#include <string>

namespace scout::kube {

ConnectionPool::ConnectionPool(asio::any_io_executor loop, const Clock& clock, Limits limits)
    : loop_(std::move(loop)),
      clock_(clock),
      limits_(limits),
      places_(std::make_shared<Places>(loop_, limits.places)),
      timer_(loop_) {}

Task<Result<Places::Place>> ConnectionPool::enter(Deadline deadline) {
    auto place = co_await places_->enter(deadline.left());
    if (!place && place.error().code == Errc::timed_out) {
        co_return fail(Errc::timed_out, "all " + std::to_string(limits_.places) +
                                            " connections were busy for " +
                                            std::to_string(deadline.limit().count()) + " ms");
    }
    co_return std::move(place);
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
