// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "aggregator/agents_port.h"
#include "aggregator/fleet.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/report.grpc.pb.h"

namespace scout::aggregator {

/// One agent's stream, for a minute; what it hears is read by a thread of its own.
class TalkingAgent {
public:
    TalkingAgent(const std::shared_ptr<grpc::Channel>& channel, const std::string& token,
                 const std::string& node)
        : stub_(virt_scout::v1::Reports::NewStub(channel)) {
        context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes{1});
        context_.AddMetadata("authorization", "Bearer " + token);
        context_.set_wait_for_ready(true);
        stream_ = stub_->Report(&context_);
        virt_scout::v1::AgentMessage hello;
        hello.mutable_hello()->set_node(node);
        hello.mutable_hello()->set_host_identity("host of " + node);
        hello.mutable_hello()->set_follows_launchers(true);
        stream_->Write(hello);
        virt_scout::v1::AgentMessage answering;
        answering.mutable_evacuations()->set_hook_served(true);
        stream_->Write(answering);
        reader_ = std::thread([this] {
            virt_scout::v1::AggregatorMessage message;
            while (stream_->Read(&message)) {
                const std::lock_guard lock(lock_);
                heard_.push_back(message);
            }
        });
    }
    ~TalkingAgent() {
        context_.TryCancel();
        reader_.join();
        static_cast<void>(stream_->Finish());
    }
    TalkingAgent(const TalkingAgent&) = delete;
    TalkingAgent& operator=(const TalkingAgent&) = delete;
    TalkingAgent(TalkingAgent&&) = delete;
    TalkingAgent& operator=(TalkingAgent&&) = delete;

    void say(const virt_scout::v1::AgentMessage& message) { stream_->Write(message); }
    /// Every five seconds, as often as it is asked.
    void beat() {
        const auto now = std::chrono::steady_clock::now();
        if (now - beat_ >= std::chrono::seconds{5}) {
            beat_ = now;
            virt_scout::v1::AgentMessage message;
            message.mutable_heartbeat();
            say(message);
        }
    }
    [[nodiscard]] std::vector<virt_scout::v1::AggregatorMessage> heard() const {
        const std::lock_guard lock(lock_);
        return heard_;
    }

private:
    std::unique_ptr<virt_scout::v1::Reports::Stub> stub_;
    grpc::ClientContext context_;
    std::unique_ptr<
        grpc::ClientReaderWriter<virt_scout::v1::AgentMessage, virt_scout::v1::AggregatorMessage>>
        stream_;
    mutable std::mutex lock_;
    std::vector<virt_scout::v1::AggregatorMessage> heard_;
    std::chrono::steady_clock::time_point beat_{};
    std::thread reader_;
};

/// VMs web and db run on two nodes of a real API server with KubeVirt's definitions and our own
/// manifests; the leader has its own account, and agents come over gRPC.
class BedMovingTest : public BedClusterTest {
protected:
    void SetUp() override;
    void TearDown() override;

    void make_kubevirt();
    void set_mode(const std::string& mode, const std::string& escalation = "none");
    void make_vm(const std::string& name, const std::string& node);
    [[nodiscard]] boost::json::value read(const kube::Resource& resource, const std::string& name);
    [[nodiscard]] boost::json::value vmi(const std::string& name);
    [[nodiscard]] std::string uid_of_vm(const std::string& name);
    [[nodiscard]] std::string uid_of_pod(const std::string& vm);
    [[nodiscard]] static kube::Target config();
    [[nodiscard]] static kube::Target plugin();
    [[nodiscard]] std::string hook_condition();

    /// The leader under its own account, and the port of the agents.
    void open_up();
    [[nodiscard]] bool authority_is_there();
    /// With a token of a pod on that node.
    [[nodiscard]] std::unique_ptr<TalkingAgent> agent_on(const std::string& node);
    void name(TalkingAgent& agent, const std::vector<std::string>& vms,
              const std::string& state = "held");
    [[nodiscard]] virt_scout::v1::EvacuationResult order(TalkingAgent& agent, const std::string& vm,
                                                         const std::string& step,
                                                         const std::string& object = {});
    /// The last facts; none heard: of no VMI.
    [[nodiscard]] static virt_scout::v1::EvacuationFacts facts(const TalkingAgent& agent);
    [[nodiscard]] static virt_scout::v1::EvacuationRules rules(const TalkingAgent& agent);

    scout::test::TemporaryFolder folder;
    BlockingPool pool{2};
    Fleet fleet{{}, {}, {}, clock};
    std::string shop;
    std::string one;
    std::string two;
    std::uint16_t port_number = 0;
    std::unique_ptr<ClusterSide> side;
    std::optional<AgentsPort> port;
    std::optional<TaskScope> agents;
    std::uint64_t orders = 0;
    int pods = 0;
};

}  // namespace scout::aggregator
