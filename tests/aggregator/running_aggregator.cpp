// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/running_aggregator.h"

#include <future>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "wire/grpc_logs.h"

namespace scout::aggregator {

RunningAggregator::RunningAggregator(Config config, const Clock& clock)
    : aggregator_(loop_, {.work = pool_, .answers = pool_}, std::move(config), clock) {
    wire::route_grpc_logs();
    std::promise<Status> started;
    auto outcome = started.get_future();
    thread_ = std::jthread([this, &started] {
        const auto work = asio::make_work_guard(loop_);
        asio::co_spawn(loop_, aggregator_.start(),
                       [&started](const std::exception_ptr& thrown, Status status) {
                           if (thrown) {
                               started.set_exception(thrown);
                           } else {
                               started.set_value(std::move(status));
                           }
                       });
        loop_.run();
    });
    started_ = outcome.get();
}

RunningAggregator::~RunningAggregator() {
    stop();
}

void RunningAggregator::stop() {
    if (!thread_.joinable()) {
        return;
    }
    std::promise<void> stopped;
    asio::co_spawn(loop_, aggregator_.stop(),
                   [&stopped](const std::exception_ptr&) { stopped.set_value(); });
    stopped.get_future().wait();
    loop_.stop();
    thread_.join();
    static_cast<void>(pool_.stop(std::chrono::seconds{5}));
}

std::shared_ptr<grpc::Channel> RunningAggregator::channel(const wire::Security& security) const {
    return wire::open_channel(endpoint(), security).value();
}

Config test_config() {
    Config config;
    config.standalone = true;
    config.listen_grpc = "127.0.0.1:0";
    config.listen_http = "127.0.0.1:0";
    config.query_socket.clear();
    config.snapshot_file.clear();
    config.plaintext = true;
    return config;
}

wire::Security plaintext() {
    wire::Security security;
    security.plaintext = true;
    return security;
}

}  // namespace scout::aggregator
