// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/offload.h"

namespace scout::libvirt_glue {

/// Blocking calls of one kind, one at a time. While one is out beyond its limit, no other starts:
/// a stuck libvirt holds one thread of the pool, whatever is asked meanwhile. Loop thread.
class CallLane {
public:
    CallLane(BlockingPool& pool, std::chrono::milliseconds limit) : pool_(pool), limit_(limit) {}

    /// As offload(); errors carry the step. unavailable: an earlier call has not come back.
    template <class Fn>
    Task<std::invoke_result_t<Fn&>> call(std::string step, Fn fn) {
        return call_within(limit_, std::move(step), std::move(fn));
    }

    /// The same with a limit of its own.
    template <class Fn>
    Task<std::invoke_result_t<Fn&>> call_within(std::chrono::milliseconds limit, std::string step,
                                                Fn fn) {
        if (*busy_) {
            co_return fail(Errc::unavailable,
                           step + ": not tried, an earlier call to libvirt has not come back");
        }
        *busy_ = true;
        // Lowered when the work is done, or dropped without being run (the pool is full).
        std::shared_ptr<void> flag(nullptr, [busy = busy_](void*) { *busy = false; });
        auto guarded = [flag = std::move(flag), work = std::move(fn)]() mutable {
            auto answer = work();
            flag.reset();
            return answer;
        };
        auto answer = co_await offload(pool_, limit, std::move(guarded));
        if (!answer) {
            if (*busy_ && answer.error().code == Errc::timed_out) {
                ++stuck_calls_;
            }
            co_return fail(std::move(answer.error()).within(step));
        }
        co_return answer;
    }

    /// A call is out: nothing else can be asked now.
    [[nodiscard]] bool busy() const noexcept { return *busy_; }
    /// Calls given up at their limit.
    [[nodiscard]] std::uint64_t stuck_calls() const noexcept { return stuck_calls_; }

private:
    BlockingPool& pool_;
    std::chrono::milliseconds limit_;
    std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);
    std::uint64_t stuck_calls_ = 0;
};

}  // namespace scout::libvirt_glue
