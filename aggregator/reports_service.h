// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/agent_streams.h"
#include "aggregator/fleet.h"
#include "aggregator/token_owners.h"
#include "base/task_scope.h"
#include "virt_scout/v1/report.grpc.pb.h"

namespace scout::aggregator {

class ReportStream;

/// The gRPC shell of AgentStreams: each stream has an object of its own whose callbacks, on gRPC's
/// threads, only post to the loop. The next message of a stream is read when the last one has been
/// taken, so that an agent cannot fill our memory. Must outlive the server's shutdown.
class ReportsService final : public v1::Reports::CallbackService, public SessionSink {
public:
    /// With Proof::certificate a peer without one speaks for no node. Proof::token needs the owners
    /// of tokens, which must outlive this; nothing of a stream is read before its owner is known.
    /// `certificates` of agents, the desk that moves their VMs, and who tells them the standings of
    /// their launchers must outlive this too; null: there are none.
    ReportsService(const boost::asio::any_io_executor& loop, Fleet& fleet, Proof proof,
                   TokenOwners* owners = nullptr, AgentCertificates* certificates = nullptr,
                   EvacuationDesk* desk = nullptr, LauncherStandings* standings = nullptr);

    grpc::ServerBidiReactor<v1::AgentMessage, v1::AggregatorMessage>* Report(
        grpc::CallbackServerContext* context) override;

    // Loop thread from here on.
    [[nodiscard]] bool has_room(SessionId session) const override;
    void send(SessionId session, const v1::AggregatorMessage& message) override;
    void end(SessionId session, const Error& why) override;

    /// `token`: with Proof::token what came with the call.
    void opened(ReportStream* stream, Peer peer, Result<std::string> token);
    void received(SessionId session, bool good, const v1::AgentMessage& message);
    void written(SessionId session, bool good);
    void cancelled(SessionId session);
    void done() { --closing_; }

    void tick() { sessions_.tick(fleet_.now()); }
    /// Ends all streams and takes no more: the aggregator stops. Returns when no token is being
    /// checked any more.
    [[nodiscard]] Task<> stop();
    [[nodiscard]] const AgentStreams& sessions() const noexcept { return sessions_; }

private:
    [[nodiscard]] ReportStream* find(SessionId session) const;
    void drop(SessionId session);
    void finish(ReportStream& stream, const grpc::Status& status);
    [[nodiscard]] Task<> check(SessionId session, std::string token);

    boost::asio::any_io_executor loop_;
    Fleet& fleet_;
    Proof proof_;
    TokenOwners* owners_;
    AgentStreams sessions_;
    std::unordered_map<SessionId, ReportStream*> streams_;  ///< those that were not finished
    std::size_t closing_ = 0;  ///< finished, but their peers have not taken it yet
    bool stopping_ = false;
    TaskScope checks_;  ///< of tokens; they go on when their stream is gone, for it comes again
};

}  // namespace scout::aggregator
