// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agent_streams.h"

#include <chrono>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/agent_certificates.h"
#include "aggregator/evacuation_desk.h"
#include "aggregator/launcher_standings.h"
#include "aggregator/messages.h"
#include "base/digest.h"
#include "base/heartbeat.h"
#include "base/logging.h"
#include "base/version.h"
#include "wire/checks.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto hello_limit = 30s;
constexpr auto between_warnings = 10s;
/// Agents ask a few times a day; signing holds up the others.
constexpr auto between_certificates = 10s;

}  // namespace

AgentStreams::AgentStreams(Registry& registry, SessionSink& sink, AgentCertificates* certificates,
                           EvacuationDesk* desk, LauncherStandings* standings)
    : registry_(registry),
      sink_(sink),
      certificates_(certificates),
      desk_(desk),
      standings_(standings),
      requests_([&sink](SessionId session, const std::string& digest) {
          v1::AggregatorMessage message;
          message.mutable_want_profile()->set_digest(digest);
          sink.send(session, message);
      }) {}

void AgentStreams::open(SessionId session, Peer peer, SteadyTime now) {
    auto& opened = sessions_[session];
    opened.peer = std::move(peer);
    opened.opened = now;
    opened.heard = now;
}

void AgentStreams::identify(SessionId session, Peer peer) {
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
        found->second.peer = std::move(peer);
    }
}

void AgentStreams::refuse(SessionId session, const Error& why, SteadyTime now) {
    if (!sessions_.contains(session)) {
        return;
    }
    ++counters_.refused;
    if (why.code != Errc::unavailable && (!warned_at_ || now - *warned_at_ >= between_warnings)) {
        warned_at_ = now;
        spdlog::warn("agent stream ended before its hello refused={} reason={}", counters_.refused,
                     log_value(why.message));
    }
    end(session, why, now);
}

void AgentStreams::receive(SessionId session, const v1::AgentMessage& message, SteadyTime now) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return;
    }
    found->second.heard = now;
    if (!found->second.node.empty()) {
        registry_.touch(found->second.node, now);
    }
    if (desk_ != nullptr) {
        desk_->heard(session);
    }
    if (auto done = guarded(session, found->second, message, now); !done) {
        spdlog::warn("agent stream ended node={} reason={}", log_value(found->second.node),
                     log_value(done.error().message));
        ++counters_.refused;
        end(session, done.error(), now);
    }
}

/// What one agent tells must not end the aggregator, whatever it is that we did not think of.
Status AgentStreams::guarded(SessionId id, Session& session, const v1::AgentMessage& message,
                             SteadyTime now) {
    try {
        return dispatch(id, session, message, now);
    } catch (const std::exception& error) {
        return fail(Errc::internal,
                    std::string{"the aggregator failed at this message: "} + error.what());
    }
}

Status AgentStreams::dispatch(SessionId id, Session& session, const v1::AgentMessage& message,
                              SteadyTime now) {
    if (message.kind_case() == v1::AgentMessage::kHello) {
        return hello(id, session, message.hello(), now);
    }
    if (session.node.empty()) {
        return fail(Errc::invalid, "expected hello as first message, found another one");
    }
    if (registry_.find(session.node) == nullptr) {
        return fail(Errc::unavailable, "node " + session.node +
                                           " was not heard of for so long that it was forgotten: "
                                           "report it anew on another stream");
    }
    switch (message.kind_case()) {
        case v1::AgentMessage::kFull:
            return full(id, session, message.full(), now);
        case v1::AgentMessage::kDelta:
            return delta(id, session, message.delta(), now);
        case v1::AgentMessage::kHeartbeat:
            return heartbeat(id, session, message.heartbeat());
        case v1::AgentMessage::kProfile:
            return body(id, session, message.profile());
        case v1::AgentMessage::kSigningRequest:
            certify(id, session, message.signing_request(), now);
            return {};
        case v1::AgentMessage::kPressure:
            return pressure(session, message.pressure(), now);
        case v1::AgentMessage::kEvacuations:
            return desk_ == nullptr ? Status{} : desk_->take(id, message.evacuations());
        case v1::AgentMessage::kEvacuationOrder:
            return desk_ == nullptr ? Status{} : desk_->order(id, message.evacuation_order());
        case v1::AgentMessage::kHello:
        case v1::AgentMessage::KIND_NOT_SET:
            break;
    }
    return {};  // a kind that a newer agent knows: nothing of ours depends on it
}

/// Another agent of this host that reports under this name and is alive.
Status AgentStreams::check_rival(const Session& session, const v1::Hello& hello,
                                 SteadyTime now) const {
    const auto found = by_node_.find(hello.node());
    if (found == by_node_.end()) {
        return {};
    }
    const auto& rival = sessions_.at(found->second);
    const auto* node = registry_.find(hello.node());
    const auto silent = std::chrono::floor<std::chrono::seconds>(now - rival.heard);
    if (rival.instance == session.instance || silent >= agent_silence_limit || node == nullptr ||
        node->host_identity != hello.host_identity()) {
        return {};
    }
    // Not refused: after the end of the first one by force this is what its successor hears.
    return fail(Errc::unavailable, "node " + hello.node() + " is reported by agent " +
                                       log_value(rival.instance) + " of this host, heard of " +
                                       std::to_string(silent.count()) +
                                       " s ago; this one is agent " + log_value(session.instance) +
                                       ": stop one of them (the number in front is its process)");
}

Status AgentStreams::hello(SessionId id, Session& session, const v1::Hello& hello, SteadyTime now) {
    if (!session.node.empty()) {
        return fail(Errc::invalid, "expected one hello, found a second one");
    }
    if (auto checked = check_hello(hello); !checked) {
        return checked;
    }
    if (auto checked = check_proof(session.peer, hello.node()); !checked) {
        return checked;
    }
    session.instance = wire::cut(hello.instance());
    if (auto alone = check_rival(session, hello, now); !alone) {
        return alone;
    }
    const Introduction introduction{.node = hello.node(),
                                    .host_identity = hello.host_identity(),
                                    .agent_version = wire::cut(hello.agent_version())};
    if (auto introduced = registry_.introduce(introduction, now); !introduced) {
        return introduced;
    }
    if (const auto other = by_node_.find(hello.node()); other != by_node_.end()) {
        end(other->second,
            {Errc::unavailable, "a newer stream of node " + hello.node() + " took over"}, now);
    }
    session.node = hello.node();
    by_node_[session.node] = id;
    v1::AggregatorMessage welcome;
    welcome.mutable_welcome()->set_aggregator_version(std::string{version});
    sink_.send(id, welcome);
    if (desk_ != nullptr && hello.follows_launchers()) {
        desk_->open(id, session.node, sink_);
    }
    if (standings_ != nullptr && hello.ranks_launchers()) {
        standings_->open(id, session.node, sink_);
    }
    return {};
}

/// Whatever is wrong with the request costs the certificate, not the reports.
void AgentStreams::certify(SessionId id, Session& session, const v1::SigningRequest& request,
                           SteadyTime now) {
    const auto chain = signature(session, request, now);
    v1::AggregatorMessage message;
    auto& answer = *message.mutable_certificate();
    if (chain) {
        answer.set_chain(*chain);
    } else {
        answer.set_error(chain.error().message);
        spdlog::log(
            chain.error().code == Errc::unavailable ? spdlog::level::debug : spdlog::level::warn,
            "no certificate for an agent node={} reason={}", session.node,
            log_value(chain.error().message));
    }
    sink_.send(id, message);
}

Result<std::string> AgentStreams::signature(Session& session, const v1::SigningRequest& request,
                                            SteadyTime now) {
    if (certificates_ == nullptr) {
        return fail(
            Errc::unavailable,
            "this aggregator signs no certificates: it is in no cluster; leave listen-https "
            "of the agent out");
    }
    const auto last = std::exchange(session.certificate_asked, now);
    if (last && now - *last < between_certificates) {
        return fail(Errc::unavailable,
                    "the last signing request was a moment ago; ask again in a minute");
    }
    return certificates_->sign(session.node, request.pem());
}

void AgentStreams::ask_full(SessionId id, Session& session) {
    session.sequence.reset();
    if (!session.full_asked) {
        ++counters_.gaps;
        session.full_asked = true;
        v1::AggregatorMessage message;
        message.mutable_want_full();
        sink_.send(id, message);
    }
}

void AgentStreams::close(SessionId session, SteadyTime now) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return;
    }
    requests_.forget(session, now);
    close_parts(session);
    const auto by_node = by_node_.find(found->second.node);
    if (by_node != by_node_.end() && by_node->second == session) {
        by_node_.erase(by_node);
    }
    sessions_.erase(found);
}

/// Those that tell agents of the cluster's objects.
void AgentStreams::close_parts(SessionId session) {
    if (desk_ != nullptr) {
        desk_->close(session);
    }
    if (standings_ != nullptr) {
        standings_->close(session);
    }
}

void AgentStreams::drained(SessionId session) {
    if (desk_ != nullptr) {
        desk_->drained(session);
    }
    if (standings_ != nullptr) {
        standings_->drained(session);
    }
}

void AgentStreams::end(SessionId id, const Error& why, SteadyTime now) {
    close(id, now);
    sink_.end(id, why);
}

void AgentStreams::end_all(const Error& why) {
    requests_.clear();
    by_node_.clear();
    const auto ended = std::exchange(sessions_, {});
    for (const auto& [id, session] : ended) {
        close_parts(id);
        sink_.end(id, why);
    }
}

void AgentStreams::tick(SteadyTime now) {
    requests_.tick(now);
    std::vector<SessionId> silent;
    for (const auto& [id, session] : sessions_) {
        if (session.node.empty() && now - session.opened >= hello_limit) {
            silent.push_back(id);
        }
    }
    for (const auto id : silent) {
        ++counters_.refused;
        end(id, {Errc::timed_out, "expected hello within 30 s, found nothing"}, now);
    }
}

}  // namespace scout::aggregator
