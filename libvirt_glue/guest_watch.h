// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/backoff.h"
#include "libvirt_glue/call_lane.h"
#include "libvirt_glue/guest_inventory.h"
#include "libvirt_glue/libvirt_hypervisor.h"
#include "libvirt_glue/mailbox.h"
#include "libvirt_glue/subscribers.h"

namespace scout::libvirt_glue {

class EventThread;
class LiveConnection;

/// The guests behind one URI: the connection, its events and the inventory. Loop thread.
///
/// run() is the only one that calls libvirt, one call at a time: open, full list, then guests that
/// events touched, until the connection closes; then back-off and anew. Callbacks only put arrivals
/// into the mailbox.
class GuestWatch {
public:
    GuestWatch(const LibvirtConfig& config, asio::any_io_executor loop, BlockingPool& pool,
               const Clock& clock);
    ~GuestWatch();
    GuestWatch(const GuestWatch&) = delete;
    GuestWatch& operator=(const GuestWatch&) = delete;
    GuestWatch(GuestWatch&&) = delete;
    GuestWatch& operator=(GuestWatch&&) = delete;

    /// Sorted by UUID; each `unknown` while unreachable. Errors: unavailable before the first
    /// contact.
    [[nodiscard]] Result<std::vector<hypervisor::GuestState>> guests() const;
    /// Errors: unavailable, timed_out (a call over its limit), cancelled.
    [[nodiscard]] Task<Status> resync();
    [[nodiscard]] hypervisor::Subscription subscribe(
        std::function<void(const hypervisor::GuestEvent&)> handler) {
        return events_.add(std::move(handler));
    }
    [[nodiscard]] hypervisor::Subscription watch_connection(
        std::function<void(const hypervisor::Connection&)> handler) {
        return watchers_.add(std::move(handler));
    }
    [[nodiscard]] const hypervisor::Connection& connection() const noexcept { return state_; }
    [[nodiscard]] hypervisor::Counters counters() const noexcept;
    /// Ends when cancelled. Failures do not end it: they are in connection(), and back-off follows.
    [[nodiscard]] Task<> run();

private:
    struct Waiter;
    using Waiters = std::vector<std::shared_ptr<Waiter>>;
    using Events = std::vector<hypervisor::GuestEvent>;

    Task<Status> open();
    Task<> follow();
    Task<Status> read_all();
    Task<Status> read_stale();
    Task<> check_alive();
    Task<> drop();
    Task<> pause(std::chrono::milliseconds span);

    void arrived(Arrival arrival);
    void closed(std::string reason);
    void connected();
    void failed(const Error& error);
    void tell(const Events& events);
    void wake();

    LibvirtConfig config_;
    asio::any_io_executor loop_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::shared_ptr<EventThread> thread_;
    std::shared_ptr<Mailbox> mailbox_;
    CallLane lane_;
    hypervisor::GuestInventory inventory_;
    hypervisor::Connection state_;
    hypervisor::Counters counters_;
    hypervisor::Subscribers<hypervisor::GuestEvent> events_;
    hypervisor::Subscribers<hypervisor::Connection> watchers_;
    std::shared_ptr<LiveConnection> live_;
    std::uint64_t number_ = 0;  ///< of the connection being opened or used
    bool closed_ = false;       ///< it closed; set by its arrival
    bool want_full_ = false;
    Waiters waiters_;
    asio::steady_timer wake_;
    Backoff back_off_;
};

}  // namespace scout::libvirt_glue
