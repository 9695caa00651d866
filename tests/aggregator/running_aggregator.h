// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <grpcpp/channel.h>

#include "aggregator/aggregator.h"
#include "aggregator/config.h"
#include "base/clock.h"
#include "base/offload.h"

namespace scout::aggregator {

/// A whole aggregator of its own on a thread of the test.
class RunningAggregator {
public:
    RunningAggregator(Config config, const Clock& clock);
    ~RunningAggregator();
    RunningAggregator(const RunningAggregator&) = delete;
    RunningAggregator& operator=(const RunningAggregator&) = delete;
    RunningAggregator(RunningAggregator&&) = delete;
    RunningAggregator& operator=(RunningAggregator&&) = delete;

    [[nodiscard]] const Status& started() const noexcept { return started_; }
    /// Ends it; returns when it has ended.
    void stop();
    [[nodiscard]] std::shared_ptr<grpc::Channel> channel(const wire::Security& security) const;
    [[nodiscard]] std::uint16_t http_port() const { return aggregator_.http_port(); }
    [[nodiscard]] wire::Endpoint endpoint() const { return aggregator_.grpc_endpoint(); }

private:
    asio::io_context loop_{1};
    BlockingPool pool_{2};
    Aggregator aggregator_;
    Status started_;
    std::jthread thread_;
};

/// On loopback with ports of the kernel's choice, no snapshot, no socket, plaintext.
[[nodiscard]] Config test_config();

/// Plaintext, for what test_config() serves.
[[nodiscard]] wire::Security plaintext();

}  // namespace scout::aggregator
