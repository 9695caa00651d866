// SPDX-License-Identifier: Apache-2.0
#include "agent/hook_service.h"

#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <spdlog/spdlog.h>

#include "agent/evacuator.h"
#include "agent/hook_payload.h"
#include "base/logging.h"
#include "base/task_scope.h"
#include "kubevirt/node_hook.grpc.pb.h"
#include "wire/checks.h"
#include "wire/unary_channel.h"

namespace scout::agent {
namespace {

namespace hooks = kubevirt::hooks::plugins::v1alpha1;
using migration::HookAnswer;

constexpr std::chrono::minutes tell_again{1};

/// What goes wrong with many calls is told once a minute. Any thread.
class BoundedLog {
public:
    explicit BoundedLog(const Clock& clock) : clock_(clock) {}

    void not_understood(std::string_view why) {
        const std::lock_guard guard(lock_);
        ++untold_;
        const auto now = clock_.steady();
        if (told_at_ && now - *told_at_ < tell_again) {
            return;
        }
        told_at_ = now;
        spdlog::warn("virt-handler's call is not understood, and so allowed calls={} reason={}",
                     std::exchange(untold_, 0), log_value(why));
    }

private:
    const Clock& clock_;
    std::mutex lock_;
    std::optional<SteadyTime> told_at_;
    std::uint64_t untold_ = 0;
};

/// One call. Answered once; at the latest when nobody holds it any more.
class Call {
public:
    Call(grpc::ServerUnaryReactor& reactor, const Clock& clock, EvacuationMetrics& metrics)
        : reactor_(&reactor), clock_(clock), metrics_(metrics), begun_(clock.steady()) {}
    ~Call() {
        finish(HookOutcome::vetoed, {grpc::StatusCode::UNAVAILABLE, "virt-scout's agent stops"});
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = delete;
    Call& operator=(Call&&) = delete;

    void allow(HookOutcome outcome = HookOutcome::allowed) { finish(outcome, grpc::Status::OK); }
    void answer(const HookAnswer& answer) {
        if (answer.allow) {
            allow();
        } else {
            finish(HookOutcome::vetoed, {grpc::StatusCode::FAILED_PRECONDITION,
                                         "virt-scout moves this VM first: " + answer.why});
        }
    }

private:
    void finish(HookOutcome outcome, const grpc::Status& status) {
        if (auto* const reactor = std::exchange(reactor_, nullptr)) {
            metrics_.called(outcome, clock_.steady() - begun_);
            reactor->Finish(status);
        }
    }

    grpc::ServerUnaryReactor* reactor_;
    const Clock& clock_;
    EvacuationMetrics& metrics_;
    SteadyTime begun_;
};

}  // namespace

class HookService::Implementation final : public hooks::NodeHookService::CallbackService {
public:
    explicit Implementation(Parts parts)
        : parts_(std::move(parts)),
          log_(parts_.clock),
          door_(std::make_shared<wire::LoopDoor>(parts_.loop)),
          scope_(parts_.loop) {}

    grpc::ServerUnaryReactor* ExecuteNodeHook(
        grpc::CallbackServerContext* context, const hooks::ExecuteNodeHookRequest* request,
        hooks::ExecuteNodeHookResponse* /*response*/) override {
        auto* const reactor = context->DefaultReactor();
        auto call = std::make_shared<Call>(*reactor, parts_.clock, parts_.metrics);
        try {
            take(call, *request);
        } catch (const std::exception& error) {
            not_understood(*call, error.what());
        }
        return reactor;
    }

    Task<> stop() {
        door_->close();
        co_await scope_.close();
    }

private:
    void not_understood(Call& call, std::string_view why) {
        call.allow(HookOutcome::not_understood);
        log_.not_understood(why);
    }

    void take(const std::shared_ptr<Call>& call, const hooks::ExecuteNodeHookRequest& request) {
        if (request.hookpoint() != pre_vm_stop) {
            call->allow();
            return;
        }
        if (request.node_context().node_name() != parts_.node) {
            not_understood(*call, "expected node " + parts_.node + ", found " +
                                      wire::cut(request.node_context().node_name()));
            return;
        }
        auto question = read_stop_question(request.vmi());
        if (!question) {
            not_understood(*call, question.error().message);
            return;
        }
        if (!why_allowed(*question).empty()) {
            call->allow();
            return;
        }
        door_->post(
            [this, call, asked = std::make_shared<const StopQuestion>(*std::move(question))] {
                decide(call, asked);
            });
    }

    void decide(const std::shared_ptr<Call>& call,
                const std::shared_ptr<const StopQuestion>& question) {
        if (const auto known = parts_.evacuator.answer_now(*question)) {
            call->answer(*known);
            return;
        }
        scope_.spawn("hook", [this, call, question] { return ask(call, question); });
    }

    Task<> ask(std::shared_ptr<Call> call, std::shared_ptr<const StopQuestion> question) {
        const auto answer = co_await parts_.evacuator.answer(question);
        if (answer) {
            call->answer(*answer);
        } else {
            not_understood(*call, "no launcher of VMI " + question->vmi.uid + " is on this node");
        }
    }

    Parts parts_;
    BoundedLog log_;
    std::shared_ptr<wire::LoopDoor> door_;
    TaskScope scope_;
};

HookService::HookService(Parts parts)
    : implementation_(std::make_unique<Implementation>(std::move(parts))) {}

HookService::~HookService() = default;

grpc::Service& HookService::service() noexcept {
    return *implementation_;
}

Task<> HookService::stop() {
    return implementation_->stop();
}

}  // namespace scout::agent
