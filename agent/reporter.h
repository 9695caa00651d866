// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/aggregator_link.h"
#include "agent/metrics.h"
#include "agent/pacer.h"
#include "agent/report_state.h"
#include "base/backoff.h"

namespace scout::agent {

class Evacuations;
class NodeCertificate;
class PressureTeller;

/// Keeps the aggregator informed: opens the stream, sends what ReportState decides, one message at
/// a time, and begins again with jittered back-off when it breaks. Nothing is queued: what changes
/// while the aggregator is away is in the snapshot, once.
///
/// Loop thread; snapshot, link, pacer and metrics outlive run().
class Reporter {
public:
    struct Parts {
        const Snapshot& snapshot;
        AggregatorLink& link;
        Pacer& pacer;
        AgentMetrics& metrics;
        NodeCertificate* certificate;        ///< null: none is asked for
        Evacuations* evacuations;            ///< null: no launchers are followed
        PressureTeller* pressure = nullptr;  ///< null: the node's pressure is not looked at
        /// What the leader knows of the launchers here; empty: nobody wants it.
        std::function<void(migration::PodStandings)> take_standings = {};
    };

    Reporter(HelloMessage hello, ReportPolicy policy, Parts parts, std::uint64_t seed);

    /// Until cancelled.
    [[nodiscard]] Task<> run();

    /// The snapshot changed.
    void changed() { parts_.pacer.wake(); }

    [[nodiscard]] const ReportState& state() const noexcept { return state_; }

private:
    /// How a session ended.
    struct Ended {
        Error error;
        bool here = false;  ///< this agent failed, and not the aggregator
    };
    /// What was logged last, so that the same is not told all the time.
    struct Told {
        std::string_view text;
        std::string reason;
        SteadyTime time;
    };

    [[nodiscard]] Task<Ended> session();
    [[nodiscard]] static Task<Ended> guarded(Task<Error> half);
    [[nodiscard]] std::optional<Message> next();
    [[nodiscard]] Task<Error> send_all(ReportStream* stream);
    [[nodiscard]] Task<Error> receive_all(ReportStream* stream);
    void take(Request request);
    void set_connected(bool connected);
    void tell(const Ended& ended);

    Parts parts_;
    ReportState state_;
    Backoff backoff_;
    bool connected_ = false;
    std::optional<Told> told_;
};

}  // namespace scout::agent
