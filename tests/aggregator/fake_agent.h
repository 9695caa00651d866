// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "migration/profile.h"
#include "virt_scout/v1/report.grpc.pb.h"
#include "wire/convert.h"

namespace scout::aggregator {

namespace v1 = virt_scout::v1;

/// One agent's side of a report stream; blocking, with a deadline of 20 s for all of it.
class FakeAgent {
public:
    explicit FakeAgent(const std::shared_ptr<grpc::Channel>& channel, const std::string& token = {})
        : stub_(v1::Reports::NewStub(channel)) {
        context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{20});
        if (!token.empty()) {
            context_.AddMetadata("authorization", "Bearer " + token);
        }
        stream_ = stub_->Report(&context_);
    }

    void hello(const std::string& node, const std::string& identity) {
        v1::AgentMessage message;
        message.mutable_hello()->set_node(node);
        message.mutable_hello()->set_host_identity(identity);
        message.mutable_hello()->set_agent_version("test");
        send(message);
    }
    void full(const migration::Profile& profile, const std::vector<v1::Guest>& guests = {}) {
        v1::AgentMessage message;
        auto* report = message.mutable_full();
        report->set_sequence(1);
        report->set_profile_digest(wire::profile_digest(profile));
        report->set_source("embedded");
        for (const auto& guest : guests) {
            *report->add_guests() = guest;
        }
        send(message);
    }
    void body(const migration::Profile& profile) {
        v1::AgentMessage message;
        message.mutable_profile()->set_digest(wire::profile_digest(profile));
        message.mutable_profile()->set_profile(wire::encode_profile(profile));
        send(message);
    }
    void send(const v1::AgentMessage& message) { stream_->Write(message); }
    /// The next message's kind; KIND_NOT_SET at the end of the stream.
    v1::AggregatorMessage::KindCase next() {
        v1::AggregatorMessage message;
        return stream_->Read(&message) ? message.kind_case() : v1::AggregatorMessage::KIND_NOT_SET;
    }
    void cancel() { context_.TryCancel(); }
    /// How the aggregator ended it; only after it has.
    grpc::Status finish() { return stream_->Finish(); }
    void close() {
        stream_->WritesDone();
        while (next() != v1::AggregatorMessage::KIND_NOT_SET) {
        }
        static_cast<void>(stream_->Finish());
    }

private:
    std::unique_ptr<v1::Reports::Stub> stub_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::AggregatorMessage>> stream_;
};

}  // namespace scout::aggregator
