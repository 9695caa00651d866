// SPDX-License-Identifier: Apache-2.0
#include "aggregator/fleet_service.h"

#include <atomic>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "aggregator/event_stream.h"
#include "wire/status.h"

namespace scout::aggregator {
namespace {

constexpr std::size_t watchers_limit = 64;
/// Answers in turns that go on at once. Each holds its answer, some MiB in a large fleet.
constexpr std::size_t sweeps_limit = 16;

/// Answers on the loop. `ask: () -> Result<Response>`; a call that its client gave up is answered
/// all the same, which gRPC throws away.
template <class Response, class Ask>
grpc::ServerUnaryReactor* answer(boost::asio::any_io_executor& loop,
                                 grpc::CallbackServerContext* context, Response* response,
                                 Ask ask) {
    auto* reactor = context->DefaultReactor();
    boost::asio::post(loop, [reactor, response, ask = std::move(ask)] {
        Result<Response> answered = ask();
        if (answered) {
            *response = std::move(*answered);
            reactor->Finish(grpc::Status::OK);
        } else {
            reactor->Finish(wire::to_grpc(answered.error()));
        }
    });
    return reactor;
}

/// Where answers in turns come from and go to.
template <class Response>
struct Turns {
    boost::asio::any_io_executor loop;
    grpc::CallbackServerContext* context;
    grpc::ServerUnaryReactor* reactor;
    Response* response;
    std::shared_ptr<const std::size_t> place;  ///< one of sweeps_limit
    Sweep<Response> sweep;
};

/// Turn after turn, with whatever else the loop has to do between them; to the end only while there
/// is somebody who waits for it.
template <class Response>
void take_turns(std::shared_ptr<Turns<Response>> turns) {
    if (turns->context->IsCancelled()) {
        turns->reactor->Finish(grpc::Status::CANCELLED);
        return;
    }
    if (turns->sweep.turn()) {
        *turns->response = std::move(turns->sweep.answer());
        turns->reactor->Finish(grpc::Status::OK);
        return;
    }
    const auto loop = turns->loop;
    boost::asio::post(loop, [turns = std::move(turns)] { take_turns(turns); });
}

/// The same for what is answered in turns. `ask: () -> Result<Sweep<Response>>`; `places` has a
/// reference for each answer that goes on. All on the loop, so that their number is exact.
template <class Response, class Ask>
grpc::ServerUnaryReactor* answer_in_turns(const boost::asio::any_io_executor& loop,
                                          const std::shared_ptr<const std::size_t>& places,
                                          grpc::CallbackServerContext* context, Response* response,
                                          Ask ask) {
    auto* reactor = context->DefaultReactor();
    boost::asio::post(loop, [loop, &places, context, reactor, response, ask = std::move(ask)] {
        if (places.use_count() > static_cast<long>(sweeps_limit)) {
            reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "as many questions about the whole fleet as can be answered at once "
                             "are being answered: ask again in a moment"});
            return;
        }
        Result<Sweep<Response>> begun = ask();
        if (!begun) {
            reactor->Finish(wire::to_grpc(begun.error()));
            return;
        }
        take_turns(std::make_shared<Turns<Response>>(
            Turns<Response>{loop, context, reactor, response, places, std::move(*begun)}));
    });
    return reactor;
}

}  // namespace

/// One watcher. As with ReportStream: On… on gRPC's threads, the rest on the loop until finish().
class WatchStream final : public grpc::ServerWriteReactor<v1::FleetEvent> {
public:
    WatchStream(FleetService& service, boost::asio::any_io_executor loop,
                grpc::CallbackServerContext& context, std::string node)
        : service_(service),
          loop_(std::move(loop)),
          context_(context),
          id_(next_id()),
          feed_(std::move(node)) {}

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

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] EventStream& feed() noexcept { return feed_; }
    [[nodiscard]] bool writing() const noexcept { return writing_; }
    [[nodiscard]] bool woken() const noexcept { return woken_; }
    void set_woken(bool woken) noexcept { woken_ = woken; }
    void write(v1::FleetEvent event) {
        event_ = std::move(event);
        writing_ = true;
        StartWrite(&event_);
    }
    void wrote() { writing_ = false; }
    /// gRPC may keep the object until the peer has read what is on the way to it.
    void finish(const grpc::Status& status) {
        feed_ = EventStream{""};
        Finish(status);
    }
    /// For a peer that does not read: finish() would wait for it. The peer is told no reason.
    void drop() {
        if (writing_) {
            context_.TryCancel();
        }
    }

private:
    static std::uint64_t next_id() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    FleetService& service_;
    boost::asio::any_io_executor loop_;
    grpc::CallbackServerContext& context_;  ///< good until OnDone()
    std::uint64_t id_;
    EventStream feed_;
    v1::FleetEvent event_;
    bool writing_ = false;
    bool woken_ = false;  ///< pump() is on its way
};

FleetService::FleetService(boost::asio::any_io_executor loop, Fleet& fleet)
    : loop_(std::move(loop)), fleet_(fleet) {
    fleet_.registry().observe([this](const Change& change) { follow(change); });
}

grpc::ServerUnaryReactor* FleetService::Nodes(grpc::CallbackServerContext* context,
                                              const v1::NodesRequest* /*request*/,
                                              v1::NodesResponse* response) {
    return answer_in_turns(loop_, sweeps_, context, response,
                           [this]() -> Result<Sweep<v1::NodesResponse>> {
                               return fleet_.queries().nodes(fleet_.now());
                           });
}

grpc::ServerUnaryReactor* FleetService::Node(grpc::CallbackServerContext* context,
                                             const v1::NodeRequest* request,
                                             v1::NodeResponse* response) {
    return answer(loop_, context, response,
                  [this, request] { return fleet_.queries().node(*request, fleet_.now()); });
}

grpc::ServerUnaryReactor* FleetService::Guests(grpc::CallbackServerContext* context,
                                               const v1::GuestsRequest* request,
                                               v1::GuestsResponse* response) {
    return answer_in_turns(loop_, sweeps_, context, response, [this, request] {
        return fleet_.queries().guests(*request, fleet_.now());
    });
}

grpc::ServerUnaryReactor* FleetService::Where(grpc::CallbackServerContext* context,
                                              const v1::WhereRequest* request,
                                              v1::WhereResponse* response) {
    return answer_in_turns(loop_, sweeps_, context, response, [this, request] {
        return fleet_.queries().where(*request, fleet_.now());
    });
}

grpc::ServerUnaryReactor* FleetService::Matrix(grpc::CallbackServerContext* context,
                                               const v1::MatrixRequest* /*request*/,
                                               v1::MatrixResponse* response) {
    return answer(loop_, context, response, [this] { return fleet_.queries().matrix(); });
}

grpc::ServerUnaryReactor* FleetService::Baseline(grpc::CallbackServerContext* context,
                                                 const v1::BaselineRequest* request,
                                                 v1::BaselineResponse* response) {
    return answer(loop_, context, response,
                  [this, request] { return fleet_.queries().baseline(*request, fleet_.now()); });
}

grpc::ServerUnaryReactor* FleetService::UpgradeImpact(grpc::CallbackServerContext* context,
                                                      const v1::UpgradeImpactRequest* request,
                                                      v1::UpgradeImpactResponse* response) {
    return answer(loop_, context, response,
                  [this, request] { return fleet_.queries().upgrade_impact(*request); });
}

grpc::ServerUnaryReactor* FleetService::Pressure(grpc::CallbackServerContext* context,
                                                 const v1::PressureRequest* request,
                                                 v1::PressureResponse* response) {
    return answer_in_turns(loop_, sweeps_, context, response, [this, request] {
        return fleet_.queries().pressure(*request, fleet_.now());
    });
}

grpc::ServerWriteReactor<v1::FleetEvent>* FleetService::Watch(grpc::CallbackServerContext* context,
                                                              const v1::WatchRequest* request) {
    // Owned by gRPC until OnDone().
    auto* stream = new WatchStream(*this, loop_, *context, request->node());
    boost::asio::post(loop_, [this, stream] { opened(stream); });
    return stream;
}

void FleetService::opened(WatchStream* stream) {
    if (stopping_ || watchers_.size() + closing_ >= watchers_limit) {
        ++closing_;
        stream->finish(
            {stopping_ ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::RESOURCE_EXHAUSTED,
             stopping_ ? "the aggregator is stopping" : "too many watchers"});
        return;
    }
    watchers_.emplace(stream->id(), stream);
    pump(*stream);
}

void FleetService::follow(const Change& change) {
    std::vector<std::uint64_t> slow;
    for (const auto& [id, stream] : watchers_) {
        if (stream->feed().push(change, fleet_.now())) {
            wake(*stream);
        } else {
            slow.push_back(id);
        }
    }
    for (const auto id : slow) {
        ++too_slow_;
        watchers_.at(id)->drop();
        finish(id, {grpc::StatusCode::RESOURCE_EXHAUSTED,
                    "the watcher does not keep up with the changes: watch again, and read faster"});
    }
}

/// Goes on later: the registry is in the middle of a change.
void FleetService::wake(WatchStream& stream) {
    if (stream.writing() || stream.woken()) {
        return;
    }
    stream.set_woken(true);
    boost::asio::post(loop_, [this, watcher = stream.id()] {
        if (const auto found = watchers_.find(watcher); found != watchers_.end()) {
            found->second->set_woken(false);
            pump(*found->second);
        }
    });
}

void FleetService::pump(WatchStream& stream) {
    if (stream.writing()) {
        return;
    }
    if (auto event = stream.feed().next(fleet_.registry(), fleet_.matrix(), fleet_.now())) {
        stream.write(std::move(*event));
    }
}

void FleetService::written(std::uint64_t watcher, bool good) {
    const auto found = watchers_.find(watcher);
    if (found == watchers_.end()) {
        return;
    }
    if (!good) {
        cancelled(watcher);
        return;
    }
    found->second->wrote();
    pump(*found->second);
}

void FleetService::cancelled(std::uint64_t watcher) {
    finish(watcher, grpc::Status::CANCELLED);
}

void FleetService::stop() {
    stopping_ = true;
    while (!watchers_.empty()) {
        finish(watchers_.begin()->first,
               {grpc::StatusCode::UNAVAILABLE, "the aggregator is stopping"});
    }
}

void FleetService::finish(std::uint64_t watcher, const grpc::Status& status) {
    const auto found = watchers_.find(watcher);
    if (found != watchers_.end()) {
        auto* stream = found->second;
        watchers_.erase(found);
        ++closing_;
        stream->finish(status);
    }
}

}  // namespace scout::aggregator
