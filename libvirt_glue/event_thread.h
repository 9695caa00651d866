// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>

namespace scout::libvirt_glue {

/// The thread that runs libvirt's event loop. It must run before the first connection is opened:
/// the embedded driver refuses to open without, and events and keepalive need it. libvirt has one
/// such loop for the process, so all owners share one thread; it ends with the last of them, after
/// the callbacks that were queued.
class EventThread {
public:
    /// The running thread, started if there is none. Throws std::runtime_error if libvirt can't
    /// make its loop.
    [[nodiscard]] static std::shared_ptr<EventThread> share();

    ~EventThread();
    EventThread(const EventThread&) = delete;
    EventThread& operator=(const EventThread&) = delete;
    EventThread(EventThread&&) = delete;
    EventThread& operator=(EventThread&&) = delete;

private:
    EventThread();

    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace scout::libvirt_glue
