// SPDX-License-Identifier: Apache-2.0
// What reports say of a host, its guests and its profile. The conversation is in agent_streams.cpp.
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/agent_streams.h"
#include "aggregator/messages.h"
#include "base/digest.h"
#include "base/logging.h"
#include "wire/convert.h"
#include "wire/pressure_messages.h"

namespace scout::aggregator {

Status AgentStreams::full(SessionId id, Session& session, const v1::FullReport& report,
                          SteadyTime now) {
    ++counters_.full;
    auto guests = guests_from_wire(report.guests(), registry_);
    if (!guests) {
        return fail(std::move(guests.error()));
    }
    if (auto taken = host(id, session, report, now); !taken) {
        return taken;
    }
    auto& unnamed = session.unnamed.emplace();
    for (const auto& [uuid, guest] : registry_.find(session.node)->guests) {
        unnamed.insert(uuid);
    }
    if (auto taken = take_guests(session, std::move(*guests), {}, report.more()); !taken) {
        return taken;
    }
    session.sequence = report.sequence();
    session.full_asked = false;
    return {};
}

/// Guests of a full report's first part or of a delta. What a full report has not named by its last
/// part is gone; but while the host does not know its guests the last ones stay (case 27), and the
/// report is complete only with the first part that has no error.
Status AgentStreams::take_guests(Session& session, std::vector<Guest> changed,
                                 std::vector<RemovedGuest> removed, bool more) {
    const auto* node = registry_.find(session.node);
    if (session.unnamed && node != nullptr) {
        auto& unnamed = *session.unnamed;
        auto places = registry_.options().guests_limit + removed.size();
        auto taken = node->guests.size();
        for (const auto& guest : changed) {
            unnamed.erase(guest.uuid);
            taken += node->guests.contains(guest.uuid) ? 0U : 1U;
        }
        const bool complete = !more && node->host.guests_error.empty();
        // At the limit a new guest gets the place of one that was not named. Agents tell them in
        // the order of their UUIDs, so the first of these is the likeliest to be gone.
        for (; !unnamed.empty() && (complete || taken > places); ++places) {
            removed.push_back({.uuid = std::move(unnamed.extract(unnamed.begin()).value())});
        }
        if (complete) {
            session.unnamed.reset();
        }
    }
    return registry_.change_guests(session.node, std::move(changed), removed);
}

Status AgentStreams::host(SessionId id, Session& session, const v1::FullReport& report,
                          SteadyTime now) {
    auto converted = host_from_wire(report);
    if (!converted) {
        return fail(std::move(converted.error()));
    }
    const auto digest = converted->profile_digest;
    const auto complete = registry_.report_host(session.node, std::move(*converted));
    if (!complete) {
        return fail(complete.error());
    }
    if (*complete) {
        requests_.forget(id, now);
    } else {
        requests_.want(id, digest, now);
    }
    return {};
}

Status AgentStreams::delta(SessionId id, Session& session, const v1::Delta& delta, SteadyTime now) {
    ++counters_.deltas;
    if (!session.sequence || delta.sequence() != *session.sequence + 1) {
        ask_full(id, session);
        return {};
    }
    auto changed = guests_from_wire(delta.changed(), registry_);
    if (!changed) {
        return fail(std::move(changed.error()));
    }
    auto removed = removed_from_wire(delta.removed());
    if (!removed) {
        return fail(std::move(removed.error()));
    }
    if (delta.has_host()) {
        if (auto taken = host(id, session, delta.host(), now); !taken) {
            return taken;
        }
    }
    auto taken = take_guests(session, std::move(*changed), std::move(*removed), delta.more());
    if (!taken) {
        return taken;
    }
    session.sequence = delta.sequence();
    return {};
}

Status AgentStreams::heartbeat(SessionId id, Session& session, const v1::Heartbeat& beat) {
    ++counters_.heartbeats;
    if (!session.sequence || beat.sequence() != *session.sequence) {
        ask_full(id, session);
    }
    return {};
}

Status AgentStreams::pressure(const Session& session, const v1::NodePressure& message,
                              SteadyTime now) {
    ++counters_.pressures;
    auto report = wire::from_wire(message);
    if (!report) {
        return fail(std::move(report.error()).within("pressure"));
    }
    return registry_.report_pressure(session.node, *std::move(report), now);
}

Status AgentStreams::body(SessionId id, Session& session, const v1::ProfileBody& body) {
    if (!requests_.waits(id, body.digest())) {
        return {};  // came too late: another agent delivered it
    }
    ++counters_.profiles;
    if (const auto found = sha256_hex(body.profile()); found != body.digest()) {
        return fail(Errc::invalid, "expected a profile with digest " + log_value(body.digest()) +
                                       ", found one with " + found);
    }
    auto profile = wire::decode_profile(body.profile());
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    registry_.deliver(body.digest(), std::move(*profile));
    requests_.delivered(body.digest());
    spdlog::debug("profile received node={} session={} digest={}", session.node, id, body.digest());
    return {};
}

}  // namespace scout::aggregator
