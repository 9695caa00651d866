// SPDX-License-Identifier: Apache-2.0
#include "base/task_scope.h"

#include <exception>
#include <string_view>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/shield.h"

namespace scout {
namespace {

void log_failure(std::string_view name, std::string_view error) {
    spdlog::error("task failed name={} error={}", log_value(name), log_value(error));
}

Task<> wait_for(asio::steady_timer* drained) {
    co_await drained->async_wait(as_result);
}

}  // namespace

TaskScope::TaskScope(asio::any_io_executor loop)
    : loop_(std::move(loop)), drained_(std::make_unique<asio::steady_timer>(loop_)) {
    drained_->expires_at(asio::steady_timer::time_point::max());
}

TaskScope::~TaskScope() {
    if (!children_.empty()) {
        spdlog::critical("task scope destroyed with a running child name={}",
                         log_value(children_.front().name));
        std::terminate();
    }
}

void TaskScope::spawn(std::string name, std::function<Task<>()> body) {
    if (closing_) {
        return;
    }
    children_.emplace_front();
    auto child = children_.begin();
    child->name = std::move(name);
    auto done = [this, child](const std::exception_ptr& thrown) { ended(child, thrown); };
    asio::co_spawn(loop_, std::move(body),
                   asio::bind_cancellation_slot(child->cancel.slot(), std::move(done)));
}

void TaskScope::ended(std::list<Child>::iterator child, const std::exception_ptr& thrown) {
    if (thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const boost::system::system_error& error) {
            if (error.code() != asio::error::operation_aborted) {
                log_failure(child->name, error.what());
            }
        } catch (const std::exception& error) {
            log_failure(child->name, error.what());
        } catch (...) {
            log_failure(child->name, "an exception that is no std::exception");
        }
    }
    children_.erase(child);
    if (closing_ && children_.empty()) {
        drained_->cancel();
    }
}

Task<> TaskScope::close() {
    closing_ = true;
    for (auto child = children_.begin(); child != children_.end();) {
        auto next = std::next(child);
        child->cancel.emit(asio::cancellation_type::terminal);
        child = next;
    }
    if (!children_.empty()) {
        co_await shield(wait_for(drained_.get()));
    }
}

}  // namespace scout
