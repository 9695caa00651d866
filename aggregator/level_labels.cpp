// SPDX-License-Identifier: Apache-2.0
#include "aggregator/level_labels.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/kubevirts.h"
#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/node_profile.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto write_limit = 15s;
constexpr auto least_between_warnings = 10s;
/// Without anything to wait for: clocks may jump.
constexpr auto longest_wait = 30s;
constexpr auto unread_wait = 1s;

/// All that levels take from a KubeVirt object.
bool judges_alike(const kube::KubeVirt* a, const kube::KubeVirt* b) {
    return a != nullptr && b != nullptr && a->machine == b->machine && a->phase == b->phase &&
           a->architecture_machines == b->architecture_machines &&
           a->node_selectors == b->node_selectors;
}

}  // namespace

LevelLabels::LevelLabels(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                         const Clock& clock, LevelLabelsConfig config)
    : sources_(sources),
      client_(client),
      clock_(clock),
      config_(std::move(config)),
      writes_(loop),
      alarm_(loop),
      settings_(cluster::level_settings(config_.levels)),
      keeper_(config_.levels, {}) {
    sources_.nodes.on_change([this](const auto& change) { take_node(change); });
    sources_.nodes.on_synced([this] { alarm_.ring(); });
    sources_.objects.on_change([this](const auto& change) { take_profile(change); });
    sources_.objects.on_synced([this] { alarm_.ring(); });
    sources_.profiles.on_change([this](const auto& node) {
        touched_.insert(node);
        alarm_.ring();
    });
    sources_.kubevirts.on_change([this](const auto& change) {
        if (!judges_alike(change.before.get(), change.now.get())) {
            judge_anew();
        }
    });
    sources_.settings.on_change([this] { take_settings(); });
    sources_.elector.on_change([this](bool leads) { take_leadership(leads); });
}

/// The stock layer does without profiles: where the right to read them is missing from the start,
/// its labels go on and what is written of profiles stays as it is. The truth layer waits, for
/// without them its labels would change, and change back once the right is there.
bool LevelLabels::is_known() const noexcept {
    const bool has_profiles =
        sources_.objects.synced() || (refused_ && settings_.layer == migration::Layer::stock);
    return sources_.nodes.synced() && sources_.settings.synced() && has_profiles;
}

Task<> LevelLabels::run() {
    for (;;) {
        const auto& objects = sources_.objects.reflector();
        refused_ = refused_ || objects.state() == kube::ReflectorState::forbidden;
        if (is_known()) {
            follow();
            judged_ = true;
            start_writes();
        }
        const auto longest = longest_sleep();
        const bool goes_on = co_await alarm_.wait(longest);
        if (!goes_on) {
            break;
        }
    }
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await writes_.close();
}

void LevelLabels::take_node(const kube::Informer<kube::Node>::Change& change) {
    if (change.now) {
        put(*change.now);
        touched_.insert(change.now->meta.name);
    } else {
        const auto& name = change.before->meta.name;
        keeper_.remove(name);
        touched_.erase(name);
        differing_.erase(name);
        if (plan_) {
            plan_->forget(name);
        }
    }
    alarm_.ring();
}

/// Of one that stays only its mark of being unused changes.
void LevelLabels::take_profile(const kube::Informer<cluster::CpuProfile>::Change& change) {
    if (!change.before || !change.now) {
        changed_profiles_.insert(change.now ? change.now->meta.name : change.before->meta.name);
        alarm_.ring();
    }
}

void LevelLabels::put(const kube::Node& node) {
    keeper_.put(node, clock_.wall(), sources_.profiles.named_by(node).get());
}

/// All that came or went since in one sweep.
void LevelLabels::put_again() {
    if (changed_profiles_.empty()) {
        return;
    }
    sources_.nodes.each([this](const auto& node) {
        if (changed_profiles_.contains(cluster::named_profile(*node))) {
            put(*node);
        }
        touched_.insert(node->meta.name);
    });
    changed_profiles_.clear();
}

void LevelLabels::take_settings() {
    const auto& now = sources_.settings.current().levels;
    if (settings_ != now) {
        settings_ = now;
        judge_anew();
    }
    alarm_.ring();
}

void LevelLabels::judge_anew() {
    keeper_.start_over(cluster::with_settings(config_.levels, settings_),
                       kubevirts_of(sources_.kubevirts));
    sources_.nodes.each([this](const auto& node) { put(*node); });
    alarm_.ring();
}

void LevelLabels::take_leadership(bool leads) {
    ++term_;
    plan_.reset();
    spdlog::info("leadership leads={} holder={} labels_out_of_step={}", leads,
                 log_value(sources_.elector.holder()), differing_.size());
    alarm_.ring();
}

/// A plan is of one leadership, and begins when all is known.
void LevelLabels::begin_plan() {
    plan_.emplace(config_.plan, config_.seed + term_, clock_.steady());
    touched_.insert(differing_.begin(), differing_.end());
}

/// What nodes and time have changed.
void LevelLabels::follow() {
    if (!plan_ && sources_.elector.leads()) {
        begin_plan();
    }
    put_again();
    keeper_.pass(clock_.wall());
    for (auto& change : keeper_.take_changes()) {
        touched_.insert(std::move(change.name));
    }
    for (const auto& node : touched_) {
        look_at(node);
    }
    touched_.clear();
}

void LevelLabels::look_at(const std::string& node) {
    const auto object = sources_.nodes.find({}, node);
    const auto label = keeper_.find(node);
    if (!object || !label) {
        return;
    }
    auto carried = cluster::carried_marks(*object);
    auto wanted = cluster::wanted_marks(carried, label->level, sources_.profiles.reported(node));
    if (wanted == carried) {
        differing_.erase(node);
    } else {
        differing_.insert(node);
    }
    if (plan_) {
        plan_->set({.name = node, .uid = object->meta.uid}, std::move(wanted), std::move(carried),
                   clock_.steady());
    }
}

/// By what is stale a label that is right may be made wrong, and a wrong one be left.
bool LevelLabels::rests_on_stale() const noexcept {
    return sources_.nodes.reflector().grows_stale() || sources_.settings.grows_stale();
}

void LevelLabels::start_writes() {
    if (!plan_ || !sources_.elector.leads() || rests_on_stale()) {
        return;
    }
    for (auto& each : plan_->take(clock_.steady())) {
        auto shared = std::make_shared<cluster::LabelPlan::Write>(std::move(each));
        writes_.spawn("label of " + shared->node,
                      [this, shared, term = term_] { return write(std::move(*shared), term); });
    }
}

Task<> LevelLabels::write(cluster::LabelPlan::Write write, std::uint64_t term) {
    const auto node = write.node;
    const auto sent = co_await send(std::move(write));
    (sent ? counters_.written : counters_.failed) += 1;
    if (!sent && sent.error().code != Errc::cancelled) {
        say_failure(node, sent.error());
    }
    if (plan_ && term == term_) {
        plan_->done(node, sent.has_value(), clock_.steady());
        alarm_.ring();
    }
}

/// A right that is missing fails for every node of a fleet.
void LevelLabels::say_failure(const std::string& node, const Error& error) {
    const auto now = clock_.steady();
    if (said_at_ && now - *said_at_ < least_between_warnings) {
        return;
    }
    said_at_ = now;
    spdlog::warn("labels are not written, tried again failed={} node={} reason={}",
                 counters_.failed, log_value(node), log_value(error.message));
}

Task<Status> LevelLabels::send(cluster::LabelPlan::Write write) {
    const auto options = leader_call(sources_.elector.may_write_for(), write_limit);
    if (!options) {
        co_return fail(options.error());
    }
    kube::Target target{.resource = kube::resources::nodes(),
                        .object = {.space = {}, .name = write.node}};
    kube::ApplyOptions apply;
    apply.force = true;
    kube::ApiResult<std::string> answer;
    if (write.merge) {
        answer = co_await client_.merge_patch(std::move(target), std::move(write.body), *options);
    } else {
        answer = co_await client_.apply(std::move(target), std::move(write.body), std::move(apply),
                                        *options);
    }
    co_return kube::plain(kube::without_body(std::move(answer)));
}

std::chrono::milliseconds LevelLabels::longest_sleep() const {
    // Nobody rings when a right turns out to be missing, or is there again.
    const bool readable = synced() && !rests_on_stale();
    auto wait = std::chrono::milliseconds{readable ? longest_wait : unread_wait};
    const auto shorten = [&wait](auto until, auto now) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        wait = std::clamp(left, 0ms, wait);
    };
    // Until all is read nothing is followed.
    if (const auto due = synced() ? keeper_.next() : std::nullopt) {
        shorten(*due, clock_.wall());
    }
    // A leader that lost is told so by the elector.
    const bool writes = plan_ && readable && sources_.elector.leads();
    if (const auto due = writes ? plan_->next() : std::nullopt) {
        shorten(*due, clock_.steady());
    }
    return wait;
}

}  // namespace scout::aggregator
