// SPDX-License-Identifier: Apache-2.0
#include "bench/agent_streams/agent.h"

#include <cstdio>
#include <utility>

namespace scout::bench {

namespace v1 = virt_scout::v1;

Agent::Agent(std::shared_ptr<grpc::Channel> channel, std::string node, MakeReport report,
             Progress& progress)
    : channel_(std::move(channel)),
      stub_(v1::Reports::NewStub(channel_)),
      report_(std::move(report)),
      progress_(progress) {
    context_.set_wait_for_ready(true);
    stub_->async()->Report(&context_, this);
    auto* hello = out_.mutable_hello();
    hello->set_node(node);
    hello->set_host_identity("id-" + node);
    hello->set_agent_version("bench");
    StartWrite(&out_);
    StartRead(&in_);
    StartCall();
}

void Agent::beat() {
    out_ = {};
    out_.mutable_heartbeat()->set_sequence(1);
    StartWrite(&out_);
}

void Agent::end() {
    context_.TryCancel();
    done_.wait(false);
}

void Agent::OnWriteDone(bool good) {
    if (good && out_.has_hello()) {
        *out_.mutable_full() = report_();
        StartWrite(&out_);
    } else if (good && out_.has_full()) {
        ++progress_.reported;
    }
}

void Agent::OnReadDone(bool good) {
    if (good) {
        progress_.welcomed += in_.has_welcome() ? 1U : 0U;
        StartRead(&in_);
    }
}

void Agent::OnDone(const grpc::Status& status) {
    if (status.error_code() != grpc::StatusCode::CANCELLED && progress_.failed++ == 0) {
        std::fprintf(stderr, "an agent's stream ended: %s\n", status.error_message().c_str());
    }
    done_ = true;
    done_.notify_all();
}

}  // namespace scout::bench
