// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/event_thread.h"

#include <mutex>
#include <stdexcept>

#include "libvirt_glue/errors.h"
#include "libvirt_glue/library.h"

namespace scout::libvirt_glue {
namespace {

/// Registering twice is an error of libvirt's; it lasts for the process.
void register_loop_once() {
    static const Status registered = []() -> Status {
        auto prepared = prepare_library();
        if (prepared && libvirt().virEventRegisterDefaultImpl() < 0) {
            return fail(last_error("register libvirt's event loop"));
        }
        return prepared;
    }();
    if (!registered) {
        throw std::runtime_error(registered.error().message);
    }
}

}  // namespace

std::shared_ptr<EventThread> EventThread::share() {
    static std::mutex lock;
    static std::weak_ptr<EventThread> running;
    const std::lock_guard guard(lock);
    auto thread = running.lock();
    if (!thread) {
        thread.reset(new EventThread);
        running = thread;
    }
    return thread;
}

EventThread::EventThread() {
    register_loop_once();
    thread_ = std::thread([this] {
        while (!stopping_) {
            // It fails only when poll() does; the next turn tries again.
            static_cast<void>(libvirt().virEventRunDefaultImpl());
        }
    });
}

EventThread::~EventThread() {
    stopping_ = true;
    // A timer that is due at once wakes the loop.
    const int timer = libvirt().virEventAddTimeout(0, [](int, void*) {}, nullptr, nullptr);
    thread_.join();
    if (timer >= 0) {
        libvirt().virEventRemoveTimeout(timer);
    }
}

}  // namespace scout::libvirt_glue
