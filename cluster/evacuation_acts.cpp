// SPDX-License-Identifier: Apache-2.0
#include "cluster/evacuation_acts.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "cluster/cause_facts.h"
#include "cluster/evacuation_facts.h"
#include "cluster/policy_body.h"
#include "cluster/vmi_calls.h"
#include "kube/decode_text.h"
#include "kube/objects/migration_policy.h"
#include "migration/requester.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using migration::EvacuationStep;
using migration::StepOutcome;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds events_limit = 500ms;
constexpr std::chrono::milliseconds act_limit = 5s;
// A target that nobody can schedule must not take up the whole of the time (dossier §6.5).
constexpr const char* unschedulable_seconds = "20";

kube::Target vmi_of(const EvacuationSubject& subject) {
    return vmi_target(subject.space, subject.vmi);
}

StepOutcome outcome_of(const kube::ApiError& failure) noexcept {
    return kube::may_pass(failure) ? StepOutcome::unavailable : StepOutcome::refused;
}

StepOutcome outcome_of(const kube::ApiResult<void>& answer) {
    return answer ? StepOutcome::done : outcome_of(answer.error());
}

StepOutcome outcome_of(kube::ApiResult<std::string> answer) {
    return outcome_of(kube::without_body(std::move(answer)));
}

/// The uid keeps it from another VMI that has taken the name.
std::string patch_of(const EvacuationSubject& subject, json::object metadata, json::object status) {
    metadata["uid"] = subject.vmi_uid;
    json::object patch{{"metadata", std::move(metadata)}};
    if (!status.empty()) {
        patch["status"] = std::move(status);
    }
    return json::serialize(patch);
}

}  // namespace

bool says_evacuation(std::string_view text, const EvacuationSubject& subject) {
    const auto wanted =
        "Eviction triggered evacuation of VMI \"" + subject.space + "/" + subject.vmi + "\"";
    return text.find(wanted) != std::string_view::npos;
}

/// A call that may not be made at all ends at once, and was not answered.
kube::CallOptions EvacuationActs::urgent(std::chrono::milliseconds limit) const {
    const auto most = allowance_ ? std::min(limit, allowance_()) : limit;
    return {.urgency = kube::Urgency::urgent, .limit = most};
}

Task<kube::ApiResult<std::optional<kube::Vmi>>> EvacuationActs::get_vmi(
    EvacuationSubject subject, std::chrono::milliseconds limit) {
    auto answer = co_await client_.get(vmi_of(subject), urgent(limit));
    if (!answer && answer.error().status == 404) {
        co_return std::nullopt;
    }
    co_return kube::decode_answer(std::move(answer), &kube::decode_vmi);
}

Task<EvacuationActs::VmiAnswer> EvacuationActs::read_vmi(EvacuationSubject subject) {
    auto vmi = co_await get_vmi(subject, act_limit);
    VmiAnswer answer;
    if (!vmi) {
        answer.outcome = outcome_of(vmi.error());
    } else if (const auto& seen = *vmi) {
        answer.facts = vmi_facts(*seen, subject.strategy);
        answer.grace = grace_of(*seen);
        answer.waiting_target = waiting_target(*seen);
        if (seen->liveness_probe && !subject.pod.empty() && !subject.pod_deleting) {
            answer.liveness_kill = co_await is_liveness_kill(std::move(subject));
        }
    }
    co_return answer;
}

Task<bool> EvacuationActs::is_liveness_kill(EvacuationSubject subject) {
    EventSubject pod{.kind = "Pod", .space = subject.space, .name = subject.pod};
    const auto events = co_await told_.about(std::move(pod), events_limit);
    co_return events&& is_killed_for_liveness(*events, clock_.wall());
}

Task<EvacuationActs::MovesAnswer> EvacuationActs::list_moves(EvacuationSubject subject) {
    MovesAnswer answer;
    auto body =
        co_await client_.get_path(moves_path(subject.space, subject.vmi), urgent(act_limit));
    if (!body) {
        answer.outcome = outcome_of(body.error());
        co_return answer;
    }
    const auto moves = moves_in(*std::move(body), subject.vmi);
    if (!moves) {
        answer.outcome = StepOutcome::unavailable;
        co_return answer;
    }
    std::optional<kube::Vmi> vmi;
    const bool handed_off = std::any_of(moves->begin(), moves->end(), [](const auto& move) {
        return move_phase(move.phase.view()) == migration::MovePhase::prepared;
    });
    if (handed_off) {
        auto read = co_await get_vmi(subject, act_limit);
        vmi = read ? std::move(*read) : std::nullopt;
    }
    for (const auto& move : *moves) {
        answer.moves.push_back(move_facts(move, vmi ? &*vmi : nullptr));
    }
    co_return answer;
}

Task<StepOutcome> EvacuationActs::carry_out(EvacuationSubject subject,
                                            migration::EvacuationOrder order) {
    switch (order.step) {
        case EvacuationStep::read_vmi:
        case EvacuationStep::list_moves:
        case EvacuationStep::escalate:
            break;
        case EvacuationStep::stamp:
            return stamp(std::move(subject));
        case EvacuationStep::dry_run:
            return evict(std::move(subject), true);
        case EvacuationStep::evict:
            return evict(std::move(subject), false);
        case EvacuationStep::create_move:
            return create_move(std::move(subject));
        case EvacuationStep::cancel_mark:
            return cancel_mark(std::move(subject));
        case EvacuationStep::delete_move:
            return remove({.resource = kube::resources::migrations(),
                           .object = {.space = subject.space, .name = order.object}},
                          {});
        case EvacuationStep::delete_target:
            return remove({.resource = kube::resources::pods(),
                           .object = {.space = subject.space, .name = order.object}},
                          {});
        case EvacuationStep::touch:
            return touch(std::move(subject));
    }
    throw std::logic_error("reads and policies have functions of their own");
}

/// KubeVirt's webhook undoes it for everybody but its own accounts, and answers 200: what counts is
/// what was stored.
Task<StepOutcome> EvacuationActs::stamp(EvacuationSubject subject) {
    auto patch = patch_of(subject, {}, {{"evacuationNodeName", subject.node}});
    auto answer =
        co_await client_.merge_patch(vmi_of(subject), std::move(patch), urgent(act_limit));
    if (!answer) {
        co_return outcome_of(std::move(answer));
    }
    const auto stored = kube::decode_text(*answer, &kube::decode_vmi);
    const bool stays = stored && stored->evacuation_node == subject.node;
    co_return stays ? StepOutcome::done : StepOutcome::undone;
}

/// Every refusal of the webhook is a 429; only its text tells them apart (dossier §4.1).
Task<StepOutcome> EvacuationActs::evict(EvacuationSubject subject, bool dry_run) {
    kube::ObjectName pod{.space = subject.space, .name = subject.pod};
    kube::Preconditions same{.uid = subject.pod_uid};
    auto options = urgent(act_limit);
    options.dry_run = dry_run;
    const auto answer = co_await client_.evict(std::move(pod), std::move(same), options);
    if (answer) {
        co_return StepOutcome::would_evict;
    }
    if (answer.error().status == 429) {
        co_return says_evacuation(answer.error().text, subject) ? StepOutcome::done
                                                                : StepOutcome::refused;
    }
    co_return outcome_of(answer);
}

Task<StepOutcome> EvacuationActs::create_move(EvacuationSubject subject) {
    json::object metadata{
        {"generateName", migration::own_move_prefix},
        {"namespace", subject.space},
        {"annotations",
         {{"kubevirt.io/migrationUnschedulablePodTimeoutSeconds", unschedulable_seconds}}}};
    json::object body{{"apiVersion", "kubevirt.io/v1"},
                      {"kind", "VirtualMachineInstanceMigration"},
                      {"metadata", std::move(metadata)},
                      {"spec", {{"vmiName", subject.vmi}}}};
    kube::Target collection{.resource = kube::resources::migrations(),
                            .object = {.space = subject.space}};
    auto answer =
        co_await client_.create(std::move(collection), json::serialize(body), urgent(act_limit));
    co_return outcome_of(std::move(answer));
}

/// Of a VMI that is gone nothing is left to cancel.
Task<StepOutcome> EvacuationActs::cancel_mark(EvacuationSubject subject) {
    auto body = evacuation_cancel_body(subject.node);
    const auto answer = co_await client_.command(evacuation_cancel(subject.space, subject.vmi),
                                                 std::move(body), urgent(act_limit));
    co_return !answer && answer.error().status == 404 ? StepOutcome::done : outcome_of(answer);
}

Task<StepOutcome> EvacuationActs::remove(kube::Target target, kube::Preconditions same) {
    const auto answer =
        co_await client_.remove(std::move(target), std::move(same), urgent(act_limit));
    co_return !answer && answer.error().status == 404 ? StepOutcome::done : outcome_of(answer);
}

Task<StepOutcome> EvacuationActs::touch(EvacuationSubject subject) {
    json::object annotations{{"virt-scout.io/released", rfc3339(clock_.wall())}};
    auto patch = patch_of(subject, {{"annotations", std::move(annotations)}}, {});
    auto answer =
        co_await client_.merge_patch(vmi_of(subject), std::move(patch), urgent(act_limit));
    co_return outcome_of(std::move(answer));
}

/// What is there is ours, and its answer was lost; or it is of an earlier move, or was made for
/// other labels: that goes first, and the next try makes the new one.
Task<StepOutcome> EvacuationActs::look_at_policy(std::string name, std::string wanted) {
    auto target = policy_target(name);
    auto body = co_await client_.get(std::move(target), urgent(act_limit));
    if (!body) {
        const bool gone = body.error().status == 404;
        co_return gone ? StepOutcome::unavailable : outcome_of(body.error());
    }
    const auto spec = policy_spec(*body);
    const auto there = kube::decode_text(*body, &kube::decode_migration_policy);
    if (!there) {
        co_return StepOutcome::unavailable;
    }
    if (is_move_policy(*there) && spec && spec == policy_spec(wanted)) {
        co_return StepOutcome::done;
    }
    static_cast<void>(co_await remove_policy(std::move(name), there->meta.uid));
    co_return StepOutcome::unavailable;
}

Task<StepOutcome> EvacuationActs::escalate(EvacuationSubject subject, MovePolicy policy) {
    json::object spec;
    if (!policy.based_on.empty()) {
        auto copied = policy_target(policy.based_on);
        auto based_on = co_await client_.get(std::move(copied), urgent(act_limit));
        auto found = based_on ? policy_spec(*based_on) : std::nullopt;
        if (!found) {
            // One that is gone is not in force any more: the next try copies another one.
            const bool gone = based_on || based_on.error().status == 404;
            co_return gone ? StepOutcome::unavailable : outcome_of(based_on.error());
        }
        spec = std::move(*found);
    }
    auto body = move_policy_body(policy, subject.vmi_uid, std::move(spec));
    auto wanted = body;
    auto collection = policy_target({});
    auto made = co_await client_.create(std::move(collection), std::move(body), urgent(act_limit));
    if (!made && made.error().status == 409) {
        auto name = move_policy_name(subject.vmi_uid);
        co_return co_await look_at_policy(std::move(name), std::move(wanted));
    }
    co_return outcome_of(std::move(made));
}

Task<StepOutcome> EvacuationActs::remove_policy(std::string name, std::string uid) {
    auto target = policy_target(std::move(name));
    kube::Preconditions same{.uid = std::move(uid), .resource_version = {}};
    return remove(std::move(target), std::move(same));
}

}  // namespace scout::cluster
