// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "virt_scout/v1/report.grpc.pb.h"

namespace scout::bench {

/// Where all agents of a run stand.
struct Progress {
    std::atomic<std::size_t> welcomed{0};
    std::atomic<std::size_t> reported{0};  ///< full reports written
    std::atomic<std::size_t> failed{0};
};

/// One agent on a connection of its own: says hello, reports in full, then beats when told.
class Agent final : public grpc::ClientBidiReactor<virt_scout::v1::AgentMessage,
                                                   virt_scout::v1::AggregatorMessage> {
public:
    using MakeReport = std::function<virt_scout::v1::FullReport()>;

    Agent(std::shared_ptr<grpc::Channel> channel, std::string node, MakeReport report,
          Progress& progress);

    /// Any thread; once the reports are in, and not before the last beat is out.
    void beat();
    /// Ends the stream and waits for its end.
    void end();

    void OnWriteDone(bool good) override;
    void OnReadDone(bool good) override;
    void OnDone(const grpc::Status& status) override;

private:
    std::shared_ptr<grpc::Channel> channel_;
    std::unique_ptr<virt_scout::v1::Reports::Stub> stub_;
    MakeReport report_;
    Progress& progress_;
    grpc::ClientContext context_;
    virt_scout::v1::AgentMessage out_;
    virt_scout::v1::AggregatorMessage in_;
    std::atomic<bool> done_{false};
};

}  // namespace scout::bench
