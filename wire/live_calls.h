// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace scout::wire {

/// How many calls of one channel gRPC still holds. gRPC ends the threads of its callbacks with the
/// last channel: a channel that is destroyed on such a thread would wait for itself. So every call,
/// which refers to the channel, must be gone before its owner lets go of it. Any thread.
class LiveCalls {
public:
    void add() {
        const std::lock_guard guard(lock_);
        ++count_;
    }
    void remove() {
        const std::lock_guard guard(lock_);
        --count_;
        changed_.notify_all();
    }
    [[nodiscard]] bool none() {
        const std::lock_guard guard(lock_);
        return count_ == 0;
    }
    [[nodiscard]] bool wait_for_none(std::chrono::milliseconds limit) {
        std::unique_lock guard(lock_);
        return changed_.wait_for(guard, limit, [this] { return count_ == 0; });
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::size_t count_ = 0;
};

/// Counts its owner as long as it lives.
class LiveCall {
public:
    explicit LiveCall(std::shared_ptr<LiveCalls> calls) : calls_(std::move(calls)) {
        calls_->add();
    }
    ~LiveCall() { calls_->remove(); }
    LiveCall(const LiveCall&) = delete;
    LiveCall& operator=(const LiveCall&) = delete;
    LiveCall(LiveCall&&) = delete;
    LiveCall& operator=(LiveCall&&) = delete;

private:
    std::shared_ptr<LiveCalls> calls_;
};

}  // namespace scout::wire
