// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "agent/messages.h"
#include "base/result.h"
#include "base/task.h"

namespace scout::agent {

/// One open stream of reports. Loop thread. Its end cancels it; nothing waits for that.
class ReportStream {
public:
    ReportStream() = default;
    virtual ~ReportStream() = default;
    ReportStream(const ReportStream&) = delete;
    ReportStream& operator=(const ReportStream&) = delete;
    ReportStream(ReportStream&&) = delete;
    ReportStream& operator=(ReportStream&&) = delete;

    /// Returns once the message is on its way, so that never more than one is held. One at a time.
    /// Errors end the stream: unavailable, refused, invalid (the aggregator's words), timed_out
    /// (it takes nothing any more), cancelled.
    [[nodiscard]] virtual Task<Status> send(Message message) = 0;

    /// The aggregator's next request. One at a time. Errors as of send().
    [[nodiscard]] virtual Task<Result<Request>> receive() = 0;
};

/// The way to the aggregator: gRPC in agent/report_stream.h, a fake in tests.
class AggregatorLink {
public:
    AggregatorLink() = default;
    virtual ~AggregatorLink() = default;
    AggregatorLink(const AggregatorLink&) = delete;
    AggregatorLink& operator=(const AggregatorLink&) = delete;
    AggregatorLink(AggregatorLink&&) = delete;
    AggregatorLink& operator=(AggregatorLink&&) = delete;

    /// Begins a stream; whether anybody answers shows in its first send() or receive(). Errors:
    /// invalid (TLS files that cannot be used), those of reading a token file. Reads small files.
    [[nodiscard]] virtual Result<std::unique_ptr<ReportStream>> open() = 0;
};

}  // namespace scout::agent
