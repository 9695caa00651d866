// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/task.h"

namespace scout::agent {

/// The waits of one coroutine, so that tests can let days pass. Loop thread, one waiter.
class Pacer {
public:
    Pacer() = default;
    virtual ~Pacer() = default;
    Pacer(const Pacer&) = delete;
    Pacer& operator=(const Pacer&) = delete;
    Pacer(Pacer&&) = delete;
    Pacer& operator=(Pacer&&) = delete;

    [[nodiscard]] virtual SteadyTime now() const = 0;
    /// Returns at that time, or earlier after wake(), also if wake() came before the call.
    [[nodiscard]] virtual Task<> wait_until(SteadyTime time) = 0;
    virtual void wake() = 0;
};

/// Real waits on the loop.
class LoopPacer final : public Pacer {
public:
    LoopPacer(const asio::any_io_executor& loop, const Clock& clock);

    [[nodiscard]] SteadyTime now() const override { return clock_.steady(); }
    [[nodiscard]] Task<> wait_until(SteadyTime time) override;
    void wake() override;

private:
    const Clock& clock_;
    asio::steady_timer timer_;
    bool woken_ = false;
};

}  // namespace scout::agent
