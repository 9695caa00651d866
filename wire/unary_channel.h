// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "base/task.h"
#include "wire/live_calls.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace scout::wire {

/// The way from gRPC's threads to a loop, which may be gone first. Any thread.
class LoopDoor {
public:
    explicit LoopDoor(asio::any_io_executor loop) : loop_(std::move(loop)) {}

    /// Runs the function on the loop; after close() it is dropped.
    void post(std::function<void()> function);
    void close();

private:
    std::mutex lock_;
    std::optional<asio::any_io_executor> loop_;
};

/// Where the calls of many channels come home to. Loop thread; the loop must outlive it, and it
/// must outlive its channels. Its end waits for the calls that gRPC still holds, which are
/// cancelled by then: a moment, at most a second.
class CallHome {
public:
    explicit CallHome(asio::any_io_executor loop);
    ~CallHome();
    CallHome(const CallHome&) = delete;
    CallHome& operator=(const CallHome&) = delete;
    CallHome(CallHome&&) = delete;
    CallHome& operator=(CallHome&&) = delete;

    [[nodiscard]] const asio::any_io_executor& loop() const noexcept { return loop_; }
    [[nodiscard]] const std::shared_ptr<LoopDoor>& door() const noexcept { return door_; }

    /// Keeps a channel until none of its calls is left.
    void retire(std::shared_ptr<grpc::Channel> channel, std::shared_ptr<LiveCalls> calls);

private:
    struct Retired {
        std::shared_ptr<grpc::Channel> channel;
        std::shared_ptr<LiveCalls> calls;
    };

    asio::any_io_executor loop_;
    std::shared_ptr<LoopDoor> door_;
    std::vector<Retired> retired_;
};

template <class Response>
struct UnaryAnswer {
    grpc::Status status;
    Response response;  ///< only if the status is OK
};

/// One channel and its unary calls, as coroutines of the loop: no thread waits for an answer. Loop
/// thread. Calls that are under way may outlive it; gRPC is told to give them up as their
/// coroutines end.
class UnaryChannel {
public:
    UnaryChannel(CallHome& home, std::shared_ptr<grpc::Channel> channel)
        : home_(home), channel_(std::move(channel)), calls_(std::make_shared<LiveCalls>()) {}
    ~UnaryChannel() { home_.retire(std::move(channel_), std::move(calls_)); }
    UnaryChannel(const UnaryChannel&) = delete;
    UnaryChannel& operator=(const UnaryChannel&) = delete;
    UnaryChannel(UnaryChannel&&) = delete;
    UnaryChannel& operator=(UnaryChannel&&) = delete;

    [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const noexcept {
        return channel_;
    }

    /// Begins a call by `start(context, request, response, done)`, which must outlive the call, and
    /// answers once gRPC does: at the limit at the latest. CANCELLED if the coroutine was
    /// cancelled.
    template <class Response, class Request, class Start>
    [[nodiscard]] Task<UnaryAnswer<Response>> call(Start start, Request request,
                                                   std::chrono::milliseconds limit) {
        return run<Response>(home_.loop(), home_.door(), calls_, std::move(start),
                             std::move(request), limit);
    }

private:
    struct Waiter {
        explicit Waiter(const asio::any_io_executor& loop)
            : timer(loop, asio::steady_timer::time_point::max()) {}
        asio::steady_timer timer;
        bool done = false;
    };

    template <class Request, class Response>
    struct Call {
        Call(std::shared_ptr<LiveCalls> calls, Request asked)
            : counted(std::move(calls)), request(std::move(asked)) {}
        LiveCall counted;  // first, so that it goes last
        grpc::ClientContext context;
        Request request;
        Response response;
        grpc::Status status;
    };

    /// Gives the call up if its coroutine ends first.
    template <class Call>
    struct GiveUp {
        explicit GiveUp(std::shared_ptr<Call> of) : call(std::move(of)) {}
        ~GiveUp() { call->context.TryCancel(); }
        GiveUp(const GiveUp&) = delete;
        GiveUp& operator=(const GiveUp&) = delete;
        GiveUp(GiveUp&&) = delete;
        GiveUp& operator=(GiveUp&&) = delete;
        std::shared_ptr<Call> call;
    };

    template <class Response, class Request, class Start>
    static Task<UnaryAnswer<Response>> run(asio::any_io_executor loop,
                                           std::shared_ptr<LoopDoor> door,
                                           std::shared_ptr<LiveCalls> calls, Start start,
                                           Request request, std::chrono::milliseconds limit) {
        using OneCall = Call<Request, Response>;
        const GiveUp<OneCall> held(std::make_shared<OneCall>(std::move(calls), std::move(request)));
        auto& call = *held.call;
        call.context.set_deadline(gpr_time_from_millis(limit.count(), GPR_TIMESPAN));
        const auto waiter = std::make_shared<Waiter>(loop);
        auto done = [door = std::move(door), call = held.call,
                     waiter = std::weak_ptr<Waiter>(waiter)](grpc::Status status) {
            call->status = std::move(status);
            door->post([waiter] {
                if (const auto waits = waiter.lock()) {
                    waits->done = true;
                    waits->timer.cancel();
                }
            });
        };
        start(&call.context, &call.request, &call.response, std::move(done));
        co_await waiter->timer.async_wait(as_result);
        if (!waiter->done) {
            co_return UnaryAnswer<Response>{.status = {grpc::StatusCode::CANCELLED, "given up"},
                                            .response = {}};
        }
        co_return UnaryAnswer<Response>{.status = std::move(call.status),
                                        .response = std::move(call.response)};
    }

    CallHome& home_;
    std::shared_ptr<grpc::Channel> channel_;
    std::shared_ptr<LiveCalls> calls_;
};

}  // namespace scout::wire
