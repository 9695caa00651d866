// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/agent_streams.h"
#include "base/digest.h"
#include "tests/aggregator/fleet_fixture.h"
#include "wire/convert.h"

namespace scout::aggregator {

using Kind = v1::AggregatorMessage::KindCase;

class RecordingSink final : public SessionSink {
public:
    [[nodiscard]] bool has_room(SessionId /*session*/) const override { return true; }
    void send(SessionId session, const v1::AggregatorMessage& message) override {
        sent[session].push_back(message);
    }
    void end(SessionId session, const Error& why) override { ended.emplace(session, why); }

    std::map<SessionId, std::vector<v1::AggregatorMessage>> sent;
    std::map<SessionId, Error> ended;
};

/// Streams of agents on a registry, without any transport.
class AgentStreamsFixture : public FleetFixture {
protected:
    void open(SessionId id, Peer peer = {}) { streams.open(id, std::move(peer), clock.steady()); }
    void say(SessionId id, const v1::AgentMessage& message) {
        streams.receive(id, message, clock.steady());
    }
    void hello(SessionId id, const std::string& node, const std::string& identity = "",
               const std::string& instance = "") {
        v1::AgentMessage message;
        message.mutable_hello()->set_instance(instance);
        message.mutable_hello()->set_node(node);
        message.mutable_hello()->set_host_identity(identity.empty() ? "id-" + node : identity);
        say(id, message);
    }
    void full(SessionId id, const migration::Profile& profile, std::uint64_t sequence = 1,
              const std::vector<v1::Guest>& guests = {}) {
        v1::AgentMessage message;
        message.mutable_full()->set_sequence(sequence);
        message.mutable_full()->set_profile_digest(wire::profile_digest(profile));
        for (const auto& guest : guests) {
            *message.mutable_full()->add_guests() = guest;
        }
        say(id, message);
    }
    void body(SessionId id, const migration::Profile& profile) {
        v1::AgentMessage message;
        message.mutable_profile()->set_digest(wire::profile_digest(profile));
        message.mutable_profile()->set_profile(wire::encode_profile(profile));
        say(id, message);
    }
    /// Node n1 reports these bytes as its profile.
    void tell_profile(SessionId id, const std::string& bytes) {
        v1::AgentMessage report;
        report.mutable_full()->set_profile_digest(sha256_hex(bytes));
        v1::AgentMessage body;
        body.mutable_profile()->set_digest(sha256_hex(bytes));
        body.mutable_profile()->set_profile(bytes);
        open(id);
        hello(id, "n1");
        say(id, report);
        say(id, body);
    }
    void heartbeat(SessionId id, std::uint64_t sequence) {
        v1::AgentMessage message;
        message.mutable_heartbeat()->set_sequence(sequence);
        say(id, message);
    }
    std::vector<Kind> kinds(SessionId id) {
        std::vector<Kind> out;
        for (const auto& message : sink.sent[id]) {
            out.push_back(message.kind_case());
        }
        return out;
    }

    RecordingSink sink;
    AgentStreams streams{fleet.registry(), sink};
};

}  // namespace scout::aggregator
