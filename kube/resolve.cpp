// SPDX-License-Identifier: Apache-2.0
#include "kube/resolve.h"

#include <memory>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/logging.h"

namespace scout::kube {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using Endpoints = std::vector<tcp::endpoint>;

struct Answer {
    error_code error;
    Endpoints endpoints;
};
using Slot =
    asio::experimental::concurrent_channel<void(error_code, std::shared_ptr<const Answer>)>;

void start_look_up(const asio::any_io_executor& loop, const std::string& host, std::uint16_t port,
                   const std::shared_ptr<Slot>& slot) {
    auto resolver = std::make_shared<tcp::resolver>(loop);
    // The resolver must live until it answers: destroying it would cancel the look-up.
    resolver->async_resolve(
        host, std::to_string(port), tcp::resolver::numeric_service,
        [resolver, slot](const error_code& error, const tcp::resolver::results_type& found) {
            Answer answer{.error = error};
            for (const auto& entry : found) {
                answer.endpoints.push_back(entry.endpoint());
            }
            slot->try_send(error_code{}, std::make_shared<const Answer>(std::move(answer)));
        });
}

}  // namespace

Task<Result<Endpoints>> resolve(std::string host, std::uint16_t port,
                                std::chrono::milliseconds limit) {
    using namespace asio::experimental::awaitable_operators;
    error_code no_address;
    const auto address = asio::ip::make_address(host, no_address);
    if (!no_address) {
        co_return Endpoints{tcp::endpoint{address, port}};
    }
    const auto loop = co_await asio::this_coro::executor;
    auto slot = std::make_shared<Slot>(loop, 1);
    start_look_up(loop, host, port, slot);
    asio::steady_timer timer(loop, limit);
    const auto outcome = co_await (slot->async_receive(as_result) || timer.async_wait(as_result));
    const auto name = "resolve " + log_value(host);
    if (outcome.index() == 1) {
        if (std::get<0>(std::get<1>(outcome))) {
            co_return fail(Errc::cancelled, name + ": cancelled");
        }
        co_return fail(Errc::timed_out,
                       name + ": no answer within " + std::to_string(limit.count()) + " ms");
    }
    const auto& [cancelled, answer] = std::get<0>(outcome);
    if (cancelled) {
        co_return fail(Errc::cancelled, name + ": cancelled");
    }
    if (answer->error || answer->endpoints.empty()) {
        co_return fail(Errc::unavailable,
                       name + ": " + (answer->error ? answer->error.message() : "no address"));
    }
    co_return answer->endpoints;
}

}  // namespace scout::kube
