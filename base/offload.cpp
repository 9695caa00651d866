// SPDX-License-Identifier: Apache-2.0
#include "base/offload.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace scout {

BlockingPool::BlockingPool(std::size_t threads)
    : size_(threads), threads_(std::make_unique<asio::thread_pool>(threads)) {}

BlockingPool::~BlockingPool() {
    static_cast<void>(stop(std::chrono::milliseconds{0}));
}

bool BlockingPool::post(std::function<void()> work) {
    if (!threads_ || counters_->waiting >= longest_queue) {
        return false;
    }
    ++counters_->waiting;
    asio::post(*threads_, [counters = counters_, work = std::move(work)] {
        --counters->waiting;
        ++counters->busy;
        work();
        --counters->busy;
    });
    return true;
}

bool BlockingPool::stop(std::chrono::milliseconds budget) {
    if (!threads_) {
        return true;
    }
    struct Joined {
        std::mutex lock;
        std::condition_variable signal;
        bool done = false;
    };
    auto joined = std::make_shared<Joined>();
    // The joiner owns the pool: if a call never returns, both stay behind and harm nobody.
    std::thread joiner([joined, pool = std::move(threads_)] {
        pool->join();
        const std::lock_guard guard(joined->lock);
        joined->done = true;
        joined->signal.notify_all();
    });
    joiner.detach();
    std::unique_lock guard(joined->lock);
    return joined->signal.wait_for(guard, budget, [&joined] { return joined->done; });
}

}  // namespace scout
