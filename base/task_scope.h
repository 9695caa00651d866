// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/task.h"

namespace scout {

/// Owner of background coroutines: nothing of ours runs detached.
///
/// Lives on the loop thread; spawn() and close() are called there only. A child that ends with an
/// exception is logged with its name. close() cancels all children and waits until none is left;
/// a scope must be closed before it is destroyed. What is spawned after close() began never starts.
class TaskScope {
public:
    explicit TaskScope(asio::any_io_executor loop);
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;
    TaskScope(TaskScope&&) = delete;
    TaskScope& operator=(TaskScope&&) = delete;

    void spawn(std::string name, std::function<Task<>()> body);

    /// Cancels every child and returns once all have ended.
    [[nodiscard]] Task<> close();

    [[nodiscard]] std::size_t running() const noexcept { return children_.size(); }

private:
    struct Child {
        std::string name;
        asio::cancellation_signal cancel;
    };

    void ended(std::list<Child>::iterator child, const std::exception_ptr& thrown);

    asio::any_io_executor loop_;
    std::list<Child> children_;
    std::unique_ptr<asio::steady_timer> drained_;
    bool closing_ = false;
};

}  // namespace scout
