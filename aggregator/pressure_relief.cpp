// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pressure_relief.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/move_object.h"
#include "cluster/object_references.h"
#include "cluster/relief_facts.h"
#include "kube/decode_text.h"
#include "kube/resource.h"
#include "migration/named_target.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using migration::ReliefHold;
using migration::ReliefMove;
using std::chrono::milliseconds;

constexpr milliseconds look_again = 5s;
constexpr milliseconds call_limit = 10s;
/// What another leader made just before is seen by then.
constexpr milliseconds before_first = 10s;
/// A migration that was made is seen by then, or was deleted.
constexpr milliseconds watch_lag = 30s;
constexpr milliseconds one_minute = 1min;
constexpr milliseconds longest_back_off = 30min;
constexpr unsigned most_doublings = 5;
constexpr milliseconds forgotten_after = 30min;

constexpr std::array<std::string_view, relief_results> words{"begun",      "refused", "no-webhook",
                                                             "unanswered", "gone",    "taken-back"};
constexpr std::string_view no_webhook =
    "virt-scout's webhooks, which have a term obeyed, are not in this cluster "
    "(MutatingWebhookConfiguration virt-scout-target)";

milliseconds back_off(unsigned failures) {
    return std::min(longest_back_off, one_minute * (1U << std::min(failures, most_doublings)));
}

std::string subject_of(const migration::HeldRelief& held) {
    const auto& signal = held.signal;
    return held.node + (signal ? " " + std::string{to_string(*signal)} : std::string{}) +
           (held.vmi.empty() ? "" : " " + held.vmi);
}

std::string name_in(std::string_view vmi) {
    return std::string{vmi.substr(vmi.find('/') + 1)};
}

std::string space_in(std::string_view vmi) {
    return std::string{vmi.substr(0, vmi.find('/'))};
}

/// "memory.available of n1 is expected to fall below the kubelet's soft threshold of 100 at …"
std::string reason_text(const ReliefMove& move, WallTime now) {
    const auto& expected = move.expected;
    return std::string{to_string(move.signal)} + " of node " + move.node +
           (expected ? " is expected to fall" : " has fallen") + " below the kubelet's " +
           (move.soft ? "soft" : "hard") + " threshold of " + std::to_string(move.at) +
           (expected ? " at " + rfc3339(now + *expected) : std::string{}) +
           ", and this VM would be among the first to be evicted";
}

/// KubeVirt says of a quota alone why it waits.
std::string recall_text(const kube::Migration& move, migration::ReliefRecall why) {
    if (why == migration::ReliefRecall::over) {
        return "its node is not expected to run short any more";
    }
    const auto* const quota =
        kube::find_condition(move.conditions, "migrationRejectedByResourceQuota");
    return quota != nullptr && quota->status == "True"
               ? "a ResourceQuota of its namespace leaves no room for its target pod"
               : "KubeVirt made no target pod for it in two minutes";
}

}  // namespace

std::string_view to_string(ReliefResult result) noexcept {
    return words.at(std::min(static_cast<std::size_t>(result), relief_results - 1));
}

PressureRelief::PressureRelief(const asio::any_io_executor& loop, Sources sources,
                               kube::Client& client, const Clock& clock)
    : sources_(std::move(sources)),
      client_(client),
      clock_(clock),
      view_(sources_.objects, clock),
      alarm_(loop) {
    sources_.elector.on_change([this](bool leads) {
        if (leads) {
            led_since_ = clock_.steady();
        }
    });
    sources_.registry.observe_pressure([this](const Node& node, const auto* before) {
        if (!migration::begun_warnings(before, *node.pressure.report).empty()) {
            alarm_.ring();
        }
    });
}

Task<> PressureRelief::run() {
    for (;;) {
        co_await look();
        const bool goes_on = co_await alarm_.wait(look_again);
        if (!goes_on) {
            co_return;
        }
    }
}

bool PressureRelief::acts() const {
    return sources_.elector.leads() && sources_.settings.synced() &&
           sources_.settings.current().relief.mode == cluster::ReliefMode::act && view_.synced();
}

void PressureRelief::forget() {
    const auto now = clock_.steady();
    while (!begun_.empty() && between(begun_.front(), now) >= one_minute) {
        begun_.pop_front();
    }
    std::erase_if(tries_, [now](const auto& entry) {
        const auto last = std::max(entry.second.at, entry.second.not_before);
        return between(last, now) >= forgotten_after;
    });
}

Task<> PressureRelief::look() {
    forget();
    migration::ReliefPolicy policy;
    const bool settled = between(led_since_, clock_.steady()) >= before_first;
    if (acts() && settled) {
        auto idle = view_.idle(policy, led_since_);
        for (auto& each : idle) {
            co_await take_back(std::move(each));
        }
    }
    if (!acts() || !view_.look(policy) || !settled) {
        say({});
        co_return;
    }
    policy.moves_per_minute = sources_.settings.current().relief.moves_per_minute;
    view_.take_limits(policy);
    const auto plan = migration::plan_relief(world(), policy);
    say(plan);
    for (const auto& each : plan.moves) {
        auto move = each;
        auto pressed = plan.pressed;
        co_await begin(std::move(move), std::move(pressed));
    }
}

migration::ReliefWorld PressureRelief::world() const {
    std::set<std::string, std::less<>> counted;
    for (const auto& [uid, tried] : tries_) {
        counted.insert(tried.move_uid);
    }
    auto world = view_.world(counted);
    add_tries(world);
    return world;
}

/// What the migrations do not tell, or not yet.
void PressureRelief::add_tries(migration::ReliefWorld& world) const {
    const auto now = clock_.steady();
    for (const auto at : begun_) {
        world.begun.push_back(between(at, now));
    }
    for (auto& [pod, vm] : world.vms) {
        const auto found = tries_.find(vm.uid);
        if (found == tries_.end()) {
            continue;
        }
        const auto& tried = found->second;
        if (!tried.move_uid.empty()) {
            const auto since = between(tried.at, now);
            vm.moved = std::min(vm.moved.value_or(since), since);
        } else if (!vm.hold && now < tried.not_before) {
            vm.hold = ReliefHold::backing_off;
        }
    }
    for (const auto& [uid, tried] : tries_) {
        const auto since = between(tried.at, now);
        const bool seen = sources_.objects.migrations.find_uid(tried.move_uid) != nullptr;
        if (!tried.may_be_made || seen || since >= watch_lag) {
            continue;
        }
        ++world.moving;
        const auto node =
            std::find_if(world.nodes.begin(), world.nodes.end(),
                         [&tried](const auto& each) { return each.name == tried.node; });
        if (node != world.nodes.end()) {
            ++node->leaving;
            ++node->begun;
        }
    }
}

void PressureRelief::say(const migration::ReliefPlan& plan) {
    counters_.pressed = plan.pressed.size();
    counters_.held = {};
    auto held = plan.held;
    std::sort(held.begin(), held.end());
    for (const auto& one : held) {
        ++counters_.held.at(static_cast<std::size_t>(one.hold));
        if (!std::binary_search(said_.begin(), said_.end(), one)) {
            spdlog::info("nothing is moved ahead of pressure subject={} reason={}",
                         log_value(subject_of(one)), to_string(one.hold));
        }
    }
    said_ = std::move(held);
}

/// Nothing is made for a VM that left, or by one who does not lead any more.
Task<> PressureRelief::begin(ReliefMove move, std::vector<std::string> pressed) {
    if (!acts()) {
        co_return;
    }
    if (!view_.vmi_on(move.node, move.pod_uid)) {
        refuse(move, ReliefResult::gone, "it does not run there any more");
        co_return;
    }
    auto& tried = tries_[move.vmi_uid];
    tried.at = clock_.steady();
    tried.node = move.node;
    tried.move_uid.clear();
    tried.may_be_made = false;
    begun_.push_back(tried.at);
    auto body = cluster::relief_object(move, pressed);
    auto aimed = cluster::with_sentinel(body);
    const auto rehearsed = co_await create(space_in(move.vmi), std::move(body), true);
    if (!rehearsed) {
        take_failure(move, rehearsed.error(), true);
        co_return;
    }
    if (!rehearsed->added_node_selector.find(migration::sentinel_key)) {
        refuse(move, ReliefResult::no_webhook, no_webhook);
        co_return;
    }
    if (!acts() || !view_.vmi_on(move.node, move.pod_uid)) {
        refuse(move, ReliefResult::gone, "it does not run there any more");
        co_return;
    }
    const auto made = co_await create(space_in(move.vmi), std::move(aimed), false);
    if (made) {
        take_made(move, *made);
    } else {
        take_failure(move, made.error(), false);
    }
}

Task<PressureRelief::Answer> PressureRelief::create(std::string space, std::string body,
                                                    bool dry_run) {
    auto options = leader_call(sources_.elector.may_write_for(), call_limit);
    if (!options) {
        co_return tl::unexpected(kube::ApiError{.error = std::move(options.error())});
    }
    options->dry_run = dry_run;
    kube::Target collection{.resource = kube::resources::migrations(),
                            .object = {.space = std::move(space)}};
    auto stored = co_await client_.create(std::move(collection), std::move(body), *options);
    co_return kube::decode_answer(std::move(stored), &kube::decode_migration);
}

/// A rehearsal makes nothing, whatever came of it.
void PressureRelief::take_failure(const ReliefMove& move, const kube::ApiError& failure,
                                  bool rehearsal) {
    const bool answered = !kube::may_pass(failure);
    tries_[move.vmi_uid].may_be_made = !rehearsal && !answered;
    refuse(move, answered ? ReliefResult::refused : ReliefResult::unanswered,
           failure.error.message);
}

void PressureRelief::refuse(const ReliefMove& move, ReliefResult result, std::string_view why) {
    ++counters_.results.at(static_cast<std::size_t>(result));
    spdlog::warn(
        "a VM was not moved ahead of pressure vmi={} node={} signal={} result={} reason={}",
        log_value(move.vmi), log_value(move.node), to_string(move.signal), to_string(result),
        log_value(why));
    if (result == ReliefResult::gone) {
        return;
    }
    put_off(tries_[move.vmi_uid]);
    if (result != ReliefResult::unanswered) {
        tell(move, nullptr, why);
    }
}

void PressureRelief::put_off(Try& tried) {
    tried.not_before = clock_.steady() + back_off(tried.failures);
    ++tried.failures;
}

/// Only as it was seen: one that went on meanwhile is left alone, and one whose VM has to leave by
/// now, for its agent relies on it.
Task<> PressureRelief::take_back(ReliefView::Idle idle) {
    const auto options = leader_call(sources_.elector.may_write_for(), call_limit);
    if (!options || view_.is_told_to_stop(idle.vmi_uid)) {
        co_return;
    }
    const auto& meta = idle.move->meta;
    kube::Target target{.resource = kube::resources::migrations(),
                        .object = {.space = meta.space.str(), .name = meta.name}};
    kube::Preconditions same{.uid = meta.uid, .resource_version = meta.version};
    const auto removed = co_await client_.remove(std::move(target), std::move(same), *options);
    if (removed) {
        take_taken_back(idle);
    } else {
        spdlog::warn(
            "a move ahead of pressure was not taken back, and is looked at again "
            "migration={} error={}",
            log_value(meta.name), log_value(removed.error().error.message));
    }
}

void PressureRelief::take_taken_back(const ReliefView::Idle& idle) {
    ++counters_.results.at(static_cast<std::size_t>(ReliefResult::taken_back));
    const auto& move = *idle.move;
    const auto why = recall_text(move, idle.why);
    spdlog::info("a move ahead of pressure is taken back vmi={}/{} migration={} reason={}",
                 log_value(move.meta.space.view()), log_value(move.vmi_name.view()),
                 log_value(move.meta.name), log_value(why));
    if (idle.vmi_uid.empty()) {
        return;
    }
    auto& tried = tries_[idle.vmi_uid];
    tried.at = clock_.steady();
    tried.move_uid.clear();
    tried.may_be_made = false;
    put_off(tried);
    const auto& space = move.meta.space.str();
    sources_.events.record(
        {.regarding = cluster::vmi_reference(space, move.vmi_name.str(), idle.vmi_uid),
         .related = cluster::move_reference(space, move.meta.name, move.meta.uid),
         .warning = idle.why == migration::ReliefRecall::no_pod,
         .reason = "MoveAheadOfPressureTakenBack",
         .action = "Migrate",
         .note = "migration " + move.meta.name + " was taken back: " + why});
}

void PressureRelief::take_made(const ReliefMove& move, const kube::Migration& made) {
    ++counters_.results.at(static_cast<std::size_t>(ReliefResult::begun));
    auto& tried = tries_[move.vmi_uid];
    tried.move_uid = made.meta.uid;
    tried.may_be_made = true;
    spdlog::info("a VM is moved ahead of pressure vmi={} node={} signal={} migration={} frees={}",
                 log_value(move.vmi), log_value(move.node), to_string(move.signal),
                 log_value(made.meta.name), move.frees);
    tell(move, &made, {});
}

void PressureRelief::tell(const ReliefMove& move, const kube::Migration* made,
                          std::string_view failure) {
    const auto space = space_in(move.vmi);
    std::optional<kube::ObjectReference> related;
    if (made != nullptr) {
        related = cluster::move_reference(space, made->meta.name, made->meta.uid);
    }
    const auto why = reason_text(move, clock_.wall());
    sources_.events.record(
        {.regarding = cluster::vmi_reference(space, name_in(move.vmi), move.vmi_uid),
         .related = std::move(related),
         .warning = made == nullptr,
         .reason = made == nullptr ? "NotMovedAheadOfPressure" : "MovedAheadOfPressure",
         .action = "Migrate",
         .note = made == nullptr ? "it could not be moved: " + std::string{failure} + "; " + why
                                 : "migration " + made->meta.name + " was made: " + why});
}

}  // namespace scout::aggregator
