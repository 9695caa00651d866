// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aggregator/session_id.h"
#include "base/result.h"
#include "virt_scout/v1/report.pb.h"

namespace scout::aggregator {

namespace v1 = virt_scout::v1;

/// Where answers to agents go.
class SessionSink {
public:
    SessionSink() = default;
    virtual ~SessionSink() = default;
    SessionSink(const SessionSink&) = delete;
    SessionSink& operator=(const SessionSink&) = delete;
    SessionSink(SessionSink&&) = delete;
    SessionSink& operator=(SessionSink&&) = delete;

    /// Whether more may be sent that can wait. What cannot is sent in any case, and costs a peer
    /// that does not read its stream.
    [[nodiscard]] virtual bool has_room(SessionId session) const = 0;
    virtual void send(SessionId session, const v1::AggregatorMessage& message) = 0;
    /// The session is over; nothing more is sent to it.
    virtual void end(SessionId session, const Error& why) = 0;
};

}  // namespace scout::aggregator
