// SPDX-License-Identifier: Apache-2.0
#include "agent/report_stream.h"

#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <spdlog/spdlog.h>

#include "agent/report_messages.h"
#include "base/clock.h"
#include "virt_scout/v1/report.grpc.pb.h"
#include "wire/bearer_token.h"
#include "wire/live_calls.h"
#include "wire/status.h"

namespace scout::agent {
namespace {

namespace v1 = virt_scout::v1;

// Longer than gRPC takes to connect (20 s): its own words are better than ours.
constexpr std::chrono::seconds send_limit{30};
constexpr std::chrono::seconds status_limit{5};
constexpr std::chrono::seconds drain_limit{1};
constexpr std::chrono::hours forever{24 * 365};

/// What happened to one operation, awaited by coroutines of the loop.
class Event {
public:
    explicit Event(const asio::any_io_executor& loop) : timer_(loop) {}

    void begin() { outcome_.reset(); }
    void set(bool ok) {
        outcome_ = ok;
        timer_.cancel();
    }
    /// Nothing if the limit passed or the waiter was cancelled. The first waiter's limit holds:
    /// setting the timer again would end its wait.
    Task<std::optional<bool>> wait(SteadyTime::duration limit) {
        if (!outcome_) {
            if (waiters_ == 0) {
                timer_.expires_after(limit);
            }
            ++waiters_;
            co_await timer_.async_wait(as_result);
            --waiters_;
        }
        co_return outcome_;
    }

private:
    asio::steady_timer timer_;
    std::optional<bool> outcome_;
    unsigned waiters_ = 0;
};

/// The events of one call on the loop's side.
struct LoopSide {
    explicit LoopSide(const asio::any_io_executor& loop) : written(loop), read(loop), ended(loop) {}

    Event written;
    Event read;
    Event ended;
    grpc::Status status;  ///< valid once `ended` is set
};

/// The call on gRPC's side. Owns itself until gRPC is done with it; buffers live here, for gRPC may
/// use them after the loop's side went away.
class Call final : public grpc::ClientBidiReactor<v1::AgentMessage, v1::AggregatorMessage>,
                   public std::enable_shared_from_this<Call> {
public:
    Call(asio::any_io_executor loop, LoopSide& side, std::shared_ptr<grpc::Channel> channel,
         std::shared_ptr<wire::LiveCalls> calls, const std::string& token)
        : counted_(std::move(calls)),
          loop_(std::move(loop)),
          side_(&side),
          stub_(v1::Reports::NewStub(std::move(channel))) {
        if (!token.empty()) {
            context_.set_credentials(grpc::AccessTokenCredentials(token));
        }
    }

    void start() {
        self_ = shared_from_this();
        stub_->async()->Report(&context_, this);
        // Reads and writes begin outside of gRPC's callbacks, so the call must not end between
        // them.
        AddHold();
        StartCall();
    }
    void write(v1::AgentMessage message) {
        outgoing_ = std::move(message);
        StartWrite(&outgoing_);
    }
    void read() { StartRead(&incoming_); }
    [[nodiscard]] const v1::AggregatorMessage& incoming() const noexcept { return incoming_; }

    /// No more reads and writes will begin: the final status may come. Loop thread.
    void finish() {
        if (!std::exchange(finished_, true)) {
            RemoveHold();
        }
    }
    [[nodiscard]] bool finished() const noexcept { return finished_; }

    /// The loop's side goes away: nothing is posted to it any more.
    void leave() {
        {
            const std::lock_guard guard(lock_);
            side_ = nullptr;
        }
        context_.TryCancel();
        finish();
    }

private:
    void OnWriteDone(bool ok) override {
        tell([ok](LoopSide& side) { side.written.set(ok); });
    }
    void OnReadDone(bool ok) override {
        tell([ok](LoopSide& side) { side.read.set(ok); });
    }
    void OnDone(const grpc::Status& status) override {
        tell([status](LoopSide& side) {
            side.status = status;
            side.ended.set(true);
        });
        const auto last = std::move(self_);
    }

    template <class Fn>
    void tell(Fn fn) {
        const std::lock_guard guard(lock_);
        if (side_ == nullptr) {
            return;
        }
        asio::post(loop_, [weak = weak_from_this(), fn = std::move(fn)] {
            const auto self = weak.lock();
            if (self && self->side_ != nullptr) {  // only the loop thread changes it
                fn(*self->side_);
            }
        });
    }

    wire::LiveCall counted_;  // first, so that it goes last
    asio::any_io_executor loop_;
    std::mutex lock_;
    LoopSide* side_;
    std::unique_ptr<v1::Reports::Stub> stub_;
    grpc::ClientContext context_;
    v1::AgentMessage outgoing_;
    v1::AggregatorMessage incoming_;
    std::shared_ptr<Call> self_;
    bool finished_ = false;
};

class GrpcStream final : public ReportStream {
public:
    GrpcStream(const asio::any_io_executor& loop, std::shared_ptr<grpc::Channel> channel,
               std::shared_ptr<wire::LiveCalls> calls, const std::string& token)
        : side_(loop),
          call_(std::make_shared<Call>(loop, side_, std::move(channel), std::move(calls), token)) {
        call_->start();
    }
    ~GrpcStream() override { call_->leave(); }
    GrpcStream(const GrpcStream&) = delete;
    GrpcStream& operator=(const GrpcStream&) = delete;
    GrpcStream(GrpcStream&&) = delete;
    GrpcStream& operator=(GrpcStream&&) = delete;

    Task<Status> send(Message message) override {
        std::optional<bool> written = false;
        if (!call_->finished()) {
            side_.written.begin();
            call_->write(to_wire(message));
            written = co_await side_.written.wait(send_limit);
        }
        if (!written) {
            co_return fail(Errc::timed_out, "the aggregator took no message for " +
                                                std::to_string(send_limit.count()) + " s");
        }
        if (*written) {
            co_return Status{};
        }
        Error error = co_await final_status();
        co_return fail(std::move(error));
    }

    Task<Result<Request>> receive() override {
        std::optional<bool> read = false;
        if (!call_->finished()) {
            side_.read.begin();
            call_->read();
            read = co_await side_.read.wait(forever);
        }
        if (!read) {
            co_return fail(Errc::cancelled, "the stream was given up");
        }
        if (*read) {
            co_return from_wire(call_->incoming());
        }
        Error error = co_await final_status();
        co_return fail(std::move(error));
    }

private:
    Task<Error> final_status() {
        call_->finish();
        const auto ended = co_await side_.ended.wait(status_limit);
        if (!ended) {
            co_return Error{Errc::unavailable, "report: the stream broke without a status"};
        }
        if (side_.status.ok()) {
            co_return Error{Errc::unavailable, "report: the aggregator ended the stream"};
        }
        if (side_.status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
            co_return Error{Errc::invalid,
                            "report: this address takes no reports: expected an aggregator's "
                            "listen-grpc (its query-socket takes questions only)"};
        }
        co_return wire::from_grpc(side_.status, "report");
    }

    LoopSide side_;
    std::shared_ptr<Call> call_;
};

class GrpcLink final : public AggregatorLink {
public:
    GrpcLink(asio::any_io_executor loop, wire::Endpoint endpoint, wire::Security security,
             std::filesystem::path token_file)
        : loop_(std::move(loop)),
          endpoint_(std::move(endpoint)),
          security_(std::move(security)),
          token_file_(std::move(token_file)) {}

    /// Every stream is gone and its call cancelled, so this takes a moment only.
    ~GrpcLink() override {
        if (!calls_->wait_for_none(drain_limit)) {
            spdlog::warn("gRPC does not let go of a cancelled call");
            static_cast<void>(new (std::nothrow) std::shared_ptr<grpc::Channel>(channel_));
        }
    }
    GrpcLink(const GrpcLink&) = delete;
    GrpcLink& operator=(const GrpcLink&) = delete;
    GrpcLink(GrpcLink&&) = delete;
    GrpcLink& operator=(GrpcLink&&) = delete;

    Result<std::unique_ptr<ReportStream>> open() override {
        if (!channel_) {
            auto made = wire::open_channel(endpoint_, security_);
            if (!made) {
                return fail(std::move(made.error()));
            }
            channel_ = std::move(*made);
        }
        std::string token;
        if (!token_file_.empty()) {
            auto read = wire::read_token(token_file_);
            if (!read) {
                return fail(std::move(read.error()).within("token-file"));
            }
            token = std::move(*read);
        }
        return std::make_unique<GrpcStream>(loop_, channel_, calls_, token);
    }

private:
    asio::any_io_executor loop_;
    wire::Endpoint endpoint_;
    wire::Security security_;
    std::filesystem::path token_file_;
    std::shared_ptr<grpc::Channel> channel_;
    std::shared_ptr<wire::LiveCalls> calls_ = std::make_shared<wire::LiveCalls>();
};

}  // namespace

std::unique_ptr<AggregatorLink> make_grpc_link(asio::any_io_executor loop, wire::Endpoint endpoint,
                                               wire::Security security,
                                               std::filesystem::path token_file) {
    return std::make_unique<GrpcLink>(std::move(loop), std::move(endpoint), std::move(security),
                                      std::move(token_file));
}

}  // namespace scout::agent
