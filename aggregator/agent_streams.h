// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/peer.h"
#include "aggregator/profile_requests.h"
#include "aggregator/registry.h"
#include "aggregator/stream_sink.h"
#include "base/clock.h"
#include "base/result.h"

namespace scout::aggregator {

class AgentCertificates;
class EvacuationDesk;
class LauncherStandings;

struct ReportCounters {
    std::uint64_t full = 0;
    std::uint64_t deltas = 0;
    std::uint64_t heartbeats = 0;
    std::uint64_t profiles = 0;
    std::uint64_t pressures = 0;
    std::uint64_t gaps = 0;     ///< sequence gaps: a full report was asked for
    std::uint64_t refused = 0;  ///< streams that we ended

    ReportCounters& operator+=(const ReportCounters& more) noexcept {
        full += more.full;
        deltas += more.deltas;
        heartbeats += more.heartbeats;
        profiles += more.profiles;
        pressures += more.pressures;
        gaps += more.gaps;
        refused += more.refused;
        return *this;
    }
};

/// The conversation with agents (proto/virt_scout/v1/report.proto), without a transport.
///
/// The body of a profile that many agents report is asked of one of them. A second stream of the
/// same agent takes the place of the first; that of a second agent of the same host does so only
/// once the first has fallen silent, or both would throw each other out for ever. Loop thread.
class AgentStreams {
public:
    /// `certificates`: null if agents are given none; `desk`: null if nothing is moved for them;
    /// `standings`: null if they are told nothing of their launchers.
    AgentStreams(Registry& registry, SessionSink& sink, AgentCertificates* certificates = nullptr,
                 EvacuationDesk* desk = nullptr, LauncherStandings* standings = nullptr);

    void open(SessionId session, Peer peer, SteadyTime now);
    /// Who it is was found out only after open(), before the first message. Unknown sessions are
    /// passed over, here and in refuse().
    void identify(SessionId session, Peer peer);
    /// Who it is could not be found out, or is nobody.
    void refuse(SessionId session, const Error& why, SteadyTime now);
    void receive(SessionId session, const v1::AgentMessage& message, SteadyTime now);
    /// The peer is away. Unknown sessions are passed over.
    void close(SessionId session, SteadyTime now);
    /// There is room for messages to it again.
    void drained(SessionId session);
    /// Ends all, as when the aggregator stops.
    void end_all(const Error& why);
    /// Asks again for profiles that did not come; ends streams that never said hello.
    void tick(SteadyTime now);

    [[nodiscard]] std::size_t size() const noexcept { return sessions_.size(); }
    [[nodiscard]] const ReportCounters& counters() const noexcept { return counters_; }

private:
    struct Session {
        Peer peer;
        SteadyTime opened{};
        SteadyTime heard{};
        std::string node;      ///< empty: no hello yet
        std::string instance;  ///< which start of an agent; empty: it does not tell
        std::optional<std::uint64_t> sequence;  ///< of the last message; nothing: full report due
        bool full_asked = false;
        /// While a full report is not complete: guests known before that it has not named yet.
        std::optional<std::set<std::string, std::less<>>> unnamed;
        std::optional<SteadyTime> certificate_asked;
    };

    [[nodiscard]] Status check_rival(const Session& session, const v1::Hello& hello,
                                     SteadyTime now) const;
    [[nodiscard]] Status hello(SessionId id, Session& session, const v1::Hello& hello,
                               SteadyTime now);
    [[nodiscard]] Status full(SessionId id, Session& session, const v1::FullReport& report,
                              SteadyTime now);
    [[nodiscard]] Status delta(SessionId id, Session& session, const v1::Delta& delta,
                               SteadyTime now);
    [[nodiscard]] Status heartbeat(SessionId id, Session& session, const v1::Heartbeat& beat);
    [[nodiscard]] Status body(SessionId id, Session& session, const v1::ProfileBody& body);
    [[nodiscard]] Status guarded(SessionId id, Session& session, const v1::AgentMessage& message,
                                 SteadyTime now);
    [[nodiscard]] Status dispatch(SessionId id, Session& session, const v1::AgentMessage& message,
                                  SteadyTime now);
    [[nodiscard]] Status host(SessionId id, Session& session, const v1::FullReport& report,
                              SteadyTime now);
    [[nodiscard]] Status take_guests(Session& session, std::vector<Guest> changed,
                                     std::vector<RemovedGuest> removed, bool more);
    [[nodiscard]] Status pressure(const Session& session, const v1::NodePressure& message,
                                  SteadyTime now);
    void certify(SessionId id, Session& session, const v1::SigningRequest& request, SteadyTime now);
    [[nodiscard]] Result<std::string> signature(Session& session, const v1::SigningRequest& request,
                                                SteadyTime now);
    void ask_full(SessionId id, Session& session);
    void close_parts(SessionId session);
    void end(SessionId id, const Error& why, SteadyTime now);

    Registry& registry_;
    SessionSink& sink_;
    AgentCertificates* certificates_;
    EvacuationDesk* desk_;
    LauncherStandings* standings_;
    std::unordered_map<SessionId, Session> sessions_;
    std::unordered_map<std::string, SessionId> by_node_;
    ProfileRequests requests_;
    ReportCounters counters_;
    std::optional<SteadyTime> warned_at_;  ///< of a stream that was refused before its hello
};

}  // namespace scout::aggregator
