// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "base/task.h"

namespace scout {

/// How many may do something at once. Who waits for a place gets it in the order in which they
/// came. Loop thread only; owned by shared_ptr.
class Places : public std::enable_shared_from_this<Places> {
public:
    /// One of them, until it is destroyed.
    class Place {
    public:
        explicit Place(std::shared_ptr<Places> places) noexcept : places_(std::move(places)) {}
        ~Place() {
            if (places_) {
                places_->leave();
            }
        }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        Place(Place&&) noexcept = default;
        Place& operator=(Place&&) = delete;

    private:
        std::shared_ptr<Places> places_;
    };

    Places(asio::any_io_executor loop, std::size_t count) : loop_(std::move(loop)), count_(count) {}

    /// Errors: timed_out, cancelled.
    [[nodiscard]] Task<Result<Place>> enter(std::chrono::milliseconds limit);

private:
    struct Waiter {
        asio::steady_timer timer;
        bool admitted = false;
    };
    class Waiting;

    void leave();

    asio::any_io_executor loop_;
    std::size_t count_;
    std::size_t taken_ = 0;
    std::list<Waiter> waiters_;
};

}  // namespace scout
