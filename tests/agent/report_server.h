// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include "virt_scout/v1/report.grpc.pb.h"
#include "wire/bearer_token.h"

namespace scout::test {

namespace v1 = virt_scout::v1;

/// A small aggregator on a port of 127.0.0.1: keeps what comes, answers what `answer` says.
class ReportServer final : public v1::Reports::Service {
public:
    explicit ReportServer(int port = 0, const std::shared_ptr<grpc::ServerCredentials>& secured =
                                            grpc::InsecureServerCredentials()) {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:" + std::to_string(port), secured, &port_);
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
    }
    ~ReportServer() override { stop(); }
    ReportServer(const ReportServer&) = delete;
    ReportServer& operator=(const ReportServer&) = delete;
    ReportServer(ReportServer&&) = delete;
    ReportServer& operator=(ReportServer&&) = delete;

    void stop() {
        if (server_) {
            server_->Shutdown(std::chrono::system_clock::now());
            server_.reset();
        }
    }
    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    /// Called for each message on a thread of gRPC; what it answers is sent.
    std::function<std::vector<v1::AggregatorMessage>(const v1::AgentMessage&)> answer;
    /// Set: every stream ends with this status at its first message.
    std::optional<grpc::Status> refuse;

    /// The first message so far or to come that fits, within 10 s.
    std::optional<v1::AgentMessage> wait_for(
        const std::function<bool(const v1::AgentMessage&)>& fits) {
        std::unique_lock guard(lock_);
        std::optional<v1::AgentMessage> found;
        came_.wait_for(guard, std::chrono::seconds{10}, [&] {
            for (const auto& message : messages_) {
                if (fits(message)) {
                    found = message;
                    return true;
                }
            }
            return false;
        });
        return found;
    }

    /// Of the streams so far; empty for one without.
    std::vector<std::string> tokens() {
        const std::lock_guard guard(lock_);
        return tokens_;
    }

    grpc::Status Report(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<v1::AggregatorMessage, v1::AgentMessage>* stream) override {
        {
            const std::lock_guard guard(lock_);
            tokens_.push_back(wire::token_of(*context).value_or(""));
        }
        v1::AgentMessage message;
        while (stream->Read(&message)) {
            if (refuse) {
                return *refuse;
            }
            {
                const std::lock_guard guard(lock_);
                messages_.push_back(message);
            }
            came_.notify_all();
            if (answer) {
                for (const auto& reply : answer(message)) {
                    stream->Write(reply);
                }
            }
        }
        return grpc::Status::OK;
    }

private:
    int port_ = 0;
    std::mutex lock_;
    std::condition_variable came_;
    std::deque<v1::AgentMessage> messages_;
    std::vector<std::string> tokens_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace scout::test
