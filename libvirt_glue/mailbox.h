// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include "base/task.h"
#include "libvirt_glue/guest_event.h"
#include "libvirt_glue/guest_inventory.h"

namespace scout::libvirt_glue {

/// libvirt closed the connection.
struct Closed {
    std::string reason;
};

/// What a callback copied, with the number of the connection that it came by.
struct Arrival {
    std::uint64_t connection = 0;
    std::variant<hypervisor::IncomingEvent, hypervisor::GuestEvent, Closed> what;
};

/// From libvirt's thread to the loop. At most `limit` arrivals are on their way; beyond that
/// events are dropped and counted (the close of a connection never is), and the owner reads
/// everything anew. Shared with libvirt's callbacks, which may outlive the owner: after close()
/// nothing reaches the loop any more.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
public:
    static constexpr std::size_t limit = 10'000;

    Mailbox(asio::any_io_executor loop, std::function<void(Arrival)> handler)
        : loop_(std::move(loop)), handler_(std::move(handler)) {}

    /// Any thread.
    void put(Arrival arrival) {
        const std::lock_guard guard(lock_);
        if (closed_) {
            return;
        }
        if (waiting_ >= limit && !std::holds_alternative<Closed>(arrival.what)) {
            ++dropped_;
            return;
        }
        ++waiting_;
        asio::post(loop_, [self = shared_from_this(), arrival = std::move(arrival)]() mutable {
            self->hand_over(std::move(arrival));
        });
    }

    /// Events dropped since the last call. Loop thread.
    [[nodiscard]] std::uint64_t take_dropped() { return dropped_.exchange(0); }

    /// Loop thread.
    void close() {
        const std::lock_guard guard(lock_);
        closed_ = true;
    }

private:
    void hand_over(Arrival arrival) {
        --waiting_;
        // Only the loop thread sets closed_.
        if (!closed_) {
            handler_(std::move(arrival));
        }
    }

    asio::any_io_executor loop_;
    std::function<void(Arrival)> handler_;
    std::mutex lock_;
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::uint64_t> dropped_{0};
    bool closed_ = false;
};

}  // namespace scout::libvirt_glue
