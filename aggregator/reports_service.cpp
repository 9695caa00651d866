// SPDX-License-Identifier: Apache-2.0
#include "aggregator/reports_service.h"

#include <atomic>
#include <deque>
#include <stdexcept>
#include <utility>

#include <boost/asio/post.hpp>

#include "wire/bearer_token.h"
#include "wire/status.h"

namespace scout::aggregator {
namespace {

/// More streams than this are turned away: each costs tens of KiB.
constexpr std::size_t streams_limit = 20'000;
/// Answers of one stream that wait to be written. Without what can wait the protocol needs three at
/// most.
constexpr std::size_t answers_limit = 16;
constexpr std::size_t room_until = 8;

Peer peer_of(const grpc::CallbackServerContext& context, Proof proof) {
    Peer peer{.proof = proof, .names = {}};
    const auto auth = context.auth_context();
    if (auth == nullptr || !auth->IsPeerAuthenticated()) {
        return peer;
    }
    for (const char* property : {"x509_common_name", "peer_dns"}) {
        for (const auto& value : auth->FindPropertyValues(property)) {
            peer.names.emplace_back(value.data(), value.size());
        }
    }
    return peer;
}

}  // namespace

/// One stream. gRPC calls the On… members on its threads; the others are for the loop, which uses
/// the object until it calls finish(). gRPC calls OnDone() after that, and the object is gone.
class ReportStream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::AggregatorMessage> {
public:
    ReportStream(ReportsService& service, boost::asio::any_io_executor loop,
                 grpc::CallbackServerContext& context)
        : service_(service), loop_(std::move(loop)), context_(context), id_(next_id()) {}

    void OnReadDone(bool good) override {
        boost::asio::post(
            loop_, [service = &service_, id = id_, good, message = std::exchange(message_, {})] {
                service->received(id, good, message);
            });
    }
    void OnWriteDone(bool good) override {
        boost::asio::post(loop_,
                          [service = &service_, id = id_, good] { service->written(id, good); });
    }
    void OnCancel() override {
        boost::asio::post(loop_, [service = &service_, id = id_] { service->cancelled(id); });
    }
    void OnDone() override {
        boost::asio::post(loop_, [service = &service_] { service->done(); });
        delete this;
    }

    [[nodiscard]] SessionId id() const noexcept { return id_; }
    void read() { StartRead(&message_); }

    /// False if too much waits already.
    [[nodiscard]] bool write(const v1::AggregatorMessage& message) {
        if (answers_.size() >= answers_limit) {
            return false;
        }
        answers_.push_back(message);
        if (answers_.size() == 1) {
            StartWrite(&answers_.front());
        }
        return true;
    }
    [[nodiscard]] bool has_room() const noexcept { return answers_.size() < room_until; }
    void wrote() {
        answers_.pop_front();
        if (!answers_.empty()) {
            StartWrite(&answers_.front());
        }
    }
    void finish(const grpc::Status& status) { Finish(status); }
    /// For a peer that does not read: finish() would wait for it. The peer is told no reason.
    void drop() { context_.TryCancel(); }

private:
    static SessionId next_id() {
        static std::atomic<SessionId> last{0};
        return ++last;
    }

    ReportsService& service_;
    boost::asio::any_io_executor loop_;
    grpc::CallbackServerContext& context_;  ///< good until OnDone()
    SessionId id_;
    v1::AgentMessage message_;
    std::deque<v1::AggregatorMessage> answers_;  ///< the first one is being written
};

ReportsService::ReportsService(const boost::asio::any_io_executor& loop, Fleet& fleet, Proof proof,
                               TokenOwners* owners, AgentCertificates* certificates,
                               EvacuationDesk* desk, LauncherStandings* standings)
    : loop_(loop),
      fleet_(fleet),
      proof_(proof),
      owners_(owners),
      sessions_(fleet.registry(), *this, certificates, desk, standings),
      checks_(loop) {
    if (proof_ == Proof::token && owners_ == nullptr) {
        throw std::logic_error("tokens cannot be checked without their owners");
    }
}

grpc::ServerBidiReactor<v1::AgentMessage, v1::AggregatorMessage>* ReportsService::Report(
    grpc::CallbackServerContext* context) {
    // Owned by gRPC until OnDone().
    auto* stream = new ReportStream(*this, loop_, *context);
    auto token = proof_ == Proof::token ? wire::token_of(*context) : Result<std::string>{};
    boost::asio::post(loop_, [this, stream, peer = peer_of(*context, proof_),
                              token = std::move(token)] { opened(stream, peer, token); });
    return stream;
}

bool ReportsService::has_room(SessionId session) const {
    const auto* stream = find(session);
    return stream != nullptr && stream->has_room();
}

void ReportsService::send(SessionId session, const v1::AggregatorMessage& message) {
    auto* stream = find(session);
    if (stream != nullptr && !stream->write(message)) {
        // Not from within the conversation, which called us.
        boost::asio::post(loop_, [this, session] { drop(session); });
    }
}

void ReportsService::end(SessionId session, const Error& why) {
    if (auto* stream = find(session)) {
        finish(*stream, wire::to_grpc(why));
    }
}

void ReportsService::opened(ReportStream* stream, Peer peer, Result<std::string> token) {
    if (stopping_ || streams_.size() + closing_ >= streams_limit ||
        checks_.running() >= streams_limit) {
        finish(*stream,
               {stopping_ ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::RESOURCE_EXHAUSTED,
                stopping_ ? "the aggregator is stopping" : "too many agent streams"});
        return;
    }
    streams_.emplace(stream->id(), stream);
    const auto id = stream->id();
    sessions_.open(id, std::move(peer), fleet_.now());
    if (proof_ != Proof::token) {
        stream->read();
    } else if (token) {
        checks_.spawn("token of an agent", [this, id, text = std::move(*token)]() mutable {
            return check(id, std::move(text));
        });
    } else {
        sessions_.refuse(id, token.error(), fleet_.now());
    }
}

Task<> ReportsService::check(SessionId session, std::string token) {
    auto owner = co_await owners_->owner_of(std::move(token));
    auto* stream = find(session);
    if (stream == nullptr) {
        co_return;
    }
    if (!owner) {
        sessions_.refuse(session, owner.error(), fleet_.now());
        co_return;
    }
    Peer peer{.proof = Proof::token, .names = {std::move(owner->node)}, .pod = owner->pod};
    sessions_.identify(session, std::move(peer));
    stream->read();
}

void ReportsService::received(SessionId session, bool good, const v1::AgentMessage& message) {
    if (!good) {
        cancelled(session);
        return;
    }
    sessions_.receive(session, message, fleet_.now());
    if (auto* stream = find(session)) {
        stream->read();
    }
}

void ReportsService::written(SessionId session, bool good) {
    auto* stream = find(session);
    if (stream == nullptr) {
        return;
    }
    if (good) {
        stream->wrote();
        sessions_.drained(session);
    } else {
        cancelled(session);
    }
}

/// Answers pile up: the agent does not read.
void ReportsService::drop(SessionId session) {
    if (auto* stream = find(session)) {
        stream->drop();
        cancelled(session);
    }
}

/// The agent closed its side, or went away.
void ReportsService::cancelled(SessionId session) {
    if (auto* stream = find(session)) {
        sessions_.close(session, fleet_.now());
        finish(*stream, grpc::Status::OK);
    }
}

Task<> ReportsService::stop() {
    stopping_ = true;
    sessions_.end_all({Errc::unavailable, "the aggregator is stopping"});
    co_await checks_.close();
}

void ReportsService::finish(ReportStream& stream, const grpc::Status& status) {
    streams_.erase(stream.id());
    ++closing_;
    stream.finish(status);
}

ReportStream* ReportsService::find(SessionId session) const {
    const auto found = streams_.find(session);
    return found == streams_.end() ? nullptr : found->second;
}

}  // namespace scout::aggregator
