// SPDX-License-Identifier: Apache-2.0
#include "agent/followed_launcher.h"

#include <algorithm>
#include <utility>

namespace scout::agent {
namespace {

using migration::EvacuationState;
using migration::EvacuationStep;
using migration::StepOutcome;

/// Watches are that far behind what was read live, at most.
constexpr std::chrono::seconds watch_lag{1};
/// The kubelet looks each 10 s, and the agent each 5 s while nothing is near.
constexpr std::chrono::seconds kubelet_looks_within{15};
/// The leader's watch of a pod may be so far behind what its launcher was told.
constexpr std::chrono::seconds deletion_seen_within{3};
/// Of a launcher that answers: a mark is to become a request in 250 ms.
constexpr std::chrono::milliseconds numbers_within{150};
/// Measuring costs the guest's host a little.
constexpr std::chrono::seconds rate_is_good_for{10};
constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
/// No guest has, or writes, more; products of what a launcher says stay in range.
constexpr std::uint64_t most_units = std::uint64_t{1} << 40U;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 56U;

std::uint64_t bytes(std::uint64_t count, std::uint64_t unit) {
    return std::min(count, most_units) * unit;
}

migration::EvacuationSettings settings_for(const FollowedLauncher::Made& made,
                                           const std::string& vmi_uid) {
    auto settings = made.settings;
    settings.vmi_uid = vmi_uid;
    return settings;
}

}  // namespace

migration::LauncherFacts launcher_facts(const launcher::Domain& domain) noexcept {
    const bool paused = domain.status == "Paused";
    const bool own_post_copy =
        domain.migration && domain.migration->mode == "PostCopy" && !domain.migration->end;
    return {.alive = launcher::is_alive(domain),
            .marked = domain.marked,
            .post_copy = own_post_copy || (paused && domain.reason == "Postcopy"),
            .post_copy_failed = paused && domain.reason == "PostcopyFailed",
            .moved_away = launcher::has_moved_away(domain),
            .shutting_down = domain.first_shutdown_request.has_value(),
            .migrating = launcher::migration_in_progress(domain)};
}

bool is_told_to_stop(const launcher::Domain& domain) noexcept {
    return domain.marked && !domain.vmi_uid.empty() && launcher::is_alive(domain) &&
           !launcher::is_not_yet_here(domain) && !domain.first_shutdown_request;
}

FollowedLauncher::FollowedLauncher(std::string pod_uid, const launcher::Domain& domain,
                                   const Made& made, SteadyTime now)
    : pod_uid_(std::move(pod_uid)),
      space_(domain.space),
      vmi_(domain.name),
      vmi_uid_(domain.vmi_uid),
      marked_at_(made.marked_at),
      followed_since_(now),
      observed_(made.observed),
      assumed_(made.assumed),
      escalation_(made.escalation),
      machine_(settings_for(made, domain.vmi_uid), made.leader_heard),
      node_ends_(made.node_ends),
      handler_stops_(made.handler_stops) {
    if (made.leader_lost) {
        machine_.lost_leader();
    }
    if (made.asked_before) {
        machine_.was_asked_before();
    }
    keep(domain);
    look_ahead(now);
    saw(&domain, now);
}

void FollowedLauncher::keep(const launcher::Domain& domain) {
    memory_kib_ = domain.memory_kib;
    domain_grace_ = domain.grace;
    huge_pages_ = domain.huge_pages;
    emulated_ = domain.cpu && domain.cpu->virt_type == "qemu";
    tied_ = !domain.cpu || !domain.cpu->ties || !domain.cpu->ties->empty();
}

void FollowedLauncher::saw(const launcher::Domain* domain, SteadyTime now) {
    gone_ = domain == nullptr;
    if (gone_) {
        machine_.saw_launcher({.alive = false, .marked = true}, now);
        return;
    }
    keep(*domain);
    const auto ago = std::chrono::floor<std::chrono::milliseconds>(now - marked_at_);
    machine_.saw_launcher(launcher_facts(*domain), now, ago);
}

void FollowedLauncher::measured(const launcher::DomainStats& stats, SteadyTime now) {
    const auto before = stats_ ? stats_->dirty_mib_s : std::nullopt;
    stats_ = stats;
    copy_speed_.saw(stats.job.data_remaining, stats.job.memory_bps, now);
    write_rate_.saw(stats.job.dirty_rate);
    if (stats.dirty_mib_s) {
        rate_at_ = now;
    } else {
        stats_->dirty_mib_s = before;
    }
}

void FollowedLauncher::measured_dirty_rate(std::uint64_t mib_s, SteadyTime now) {
    if (stats_) {
        stats_->dirty_mib_s = mib_s;
        rate_at_ = now;
    }
}

bool FollowedLauncher::wants_dirty_rate(SteadyTime now) const {
    return !is_over() && !gone_ && !machine_.is_running() &&
           (!rate_at_ || now - *rate_at_ >= rate_is_good_for);
}

void FollowedLauncher::saw_vmi(migration::VmiFacts facts, SteadyTime now) {
    machine_.saw_vmi(std::move(facts), now);
    settle();
}

void FollowedLauncher::take(const EvacuationFacts& facts, const Clock& clock) {
    const auto now = clock.steady();
    numbers_ = facts.numbers;
    downtime_ = facts.downtime;
    disks_ = facts.disks;
    escalated_ = facts.escalated;
    next_evacuation_.reset();
    if (facts.next_evacuation) {
        constexpr std::chrono::milliseconds most = std::chrono::hours{24};
        next_evacuation_ = now + std::clamp(*facts.next_evacuation - clock.wall(), -most, most);
    }
    if (facts.pod) {
        const bool with_mark = !pod_ || now - followed_since_ <= deletion_seen_within;
        deleted_first_ = deleted_first_ || (facts.pod->deletion_grace && with_mark);
        pod_ = facts.pod;
    }
    if (facts.vmi) {
        vmi_told_ = true;
        vmi_grace_ = facts.vmi->grace;
    }
    look_ahead(now);
    if (facts.vmi) {
        machine_.saw_vmi(facts.vmi->facts, now);
    }
    if (facts.moves) {
        take_moves(*facts.moves, false, now);
    }
    settle();
}

/// A watch may be behind a live list: then a migration of the list would seem to be deleted. And
/// while a list is being made, nothing else must be taken for it.
void FollowedLauncher::take_moves(std::vector<migration::MoveFacts> moves, bool live,
                                  SteadyTime now) {
    const auto has = [&moves](const std::string& name) {
        return std::any_of(moves.begin(), moves.end(),
                           [&name](const auto& move) { return move.name == name; });
    };
    if (live) {
        listed_.clear();
        listed_at_ = now;
        for (const auto& move : moves) {
            if (!move.is_final()) {
                listed_.push_back(move.name);
            }
        }
    } else if (listing_ || (now - listed_at_ < watch_lag &&
                            !std::all_of(listed_.begin(), listed_.end(), has))) {
        return;
    }
    machine_.saw_moves(std::move(moves), now);
    if (!machine_.is_running()) {
        running_since_.reset();
        copy_speed_ = {};
        write_rate_ = {};
    } else if (!running_since_) {
        running_since_ = now;
    }
}

void FollowedLauncher::answered(const migration::EvacuationOrder& order, EvacuationResult result,
                                SteadyTime now) {
    const bool done = result.outcome == StepOutcome::done;
    listing_ = listing_ && order.step != EvacuationStep::list_moves;
    if (order.step == EvacuationStep::read_vmi && done) {
        vmi_told_ = true;
        if (result.vmi) {
            vmi_grace_ = result.vmi->grace;
            liveness_kill_ = liveness_kill_ || result.liveness_kill;
            look_ahead(now);
        }
        machine_.read_vmi(result.vmi ? std::optional{std::move(result.vmi->facts)} : std::nullopt,
                          now);
    } else if (order.step == EvacuationStep::list_moves && done) {
        take_moves(std::move(result.moves), true, now);
    } else {
        machine_.answered(order, result.outcome, now);
    }
    settle();
}

std::optional<migration::EvacuationOrder> FollowedLauncher::next(SteadyTime now) {
    auto order = machine_.next(now);
    listing_ = listing_ || (order && order->step == EvacuationStep::list_moves);
    return order;
}

void FollowedLauncher::look_ahead(SteadyTime now) {
    const bool queued = outlook_.queued_in_time;
    outlook_ = migration::outlook_of(subject(now), assumed_);
    outlook_.queued_in_time = queued;
    outlook_.next_evacuation = next_evacuation_;
    outlook_.numbers_due = stats_ ? std::nullopt : std::optional{followed_since_ + numbers_within};
    machine_.saw_outlook(outlook_, now);
}

void FollowedLauncher::kubelet_gives(std::optional<std::chrono::seconds> grace, SteadyTime now) {
    if (grace && now - followed_since_ <= kubelet_looks_within) {
        kubelet_grace_ = std::min(kubelet_grace_.value_or(*grace), *grace);
    }
}

std::chrono::seconds FollowedLauncher::pod_grace() const noexcept {
    return domain_grace_.value_or(migration::StopTimes{}.vmi_grace) + migration::pod_patience;
}

std::optional<std::chrono::milliseconds> FollowedLauncher::take_abort() {
    const auto took = machine_.abort_took();
    return took && !std::exchange(abort_taken_, true) ? took : std::nullopt;
}

void FollowedLauncher::set_queued(bool in_time, SteadyTime now) {
    outlook_.queued_in_time = in_time;
    // What shall be held is only now known to fit.
    const auto held = [this] {
        const auto state = machine_.state();
        return state == EvacuationState::held || state == EvacuationState::moving;
    };
    const bool was_held = held();
    machine_.saw_outlook(outlook_, now);
    if (observed_ && verdict_.empty() && was_held && held() && !outlook_.awaits_numbers(now)) {
        verdict_ = "only observed: it would be held and moved";
    }
    settle();
}

migration::StopTimes FollowedLauncher::times() const {
    migration::StopTimes times;
    // What its launcher says is in force; what the VMI says may have been changed since.
    times.vmi_grace = domain_grace_.value_or(vmi_grace_.value_or(times.vmi_grace));
    if (pod_) {
        times.pod_grace = pod_->grace;
        times.deletion_grace = pod_->deletion_grace;
        times.launcher_grace = pod_->launcher_grace;
    }
    // Who deletes a pod by the API says himself how long it has; but what the kubelet gave before
    // that only ever gets less.
    if (!deleted_first_) {
        times.kubelet_grace = kubelet_grace_;
    }
    if (node_ends_) {
        const auto ends = std::chrono::floor<std::chrono::seconds>(*node_ends_ - marked_at_);
        times.kubelet_grace = std::min(times.kubelet_grace.value_or(ends), ends);
    }
    return times;
}

/// Its launcher knows what is in use, and its leader how much that may become.
migration::CopiedDisks FollowedLauncher::disks() const {
    auto disks = disks_;
    if (stats_) {
        const auto in_use = std::min(stats_->pod_disks.bytes, most_bytes);
        disks.bytes.least = in_use;
        disks.bytes.likely = std::max(disks.bytes.likely, in_use);
        disks.bytes.most = std::max(disks.bytes.most, in_use);
        disks.counted += std::min(stats_->pod_disks.counted, in_use);
    }
    return disks;
}

migration::MoveSubject FollowedLauncher::subject(SteadyTime now) const {
    migration::MoveSubject subject{
        .memory = bytes(memory_kib_, kib), .settings = numbers_, .downtime = downtime_};
    subject.disks = disks();
    subject.liveness_kill = liveness_kill_;
    subject.handler_stops = handler_stops_;
    subject.pod_failed = pod_ && pod_->phase == "Failed";
    subject.times = times();
    subject.escalation = escalation_;
    subject.escalated = escalated_;
    const auto& vmi = machine_.vmi();
    subject.handed_off = vmi && vmi->handed_off;
    subject.left = std::chrono::floor<std::chrono::milliseconds>(machine_.cancel_at() - now);
    subject.tied = tied_;
    subject.abort = {.emulated = emulated_, .seen = slowest_abort_};
    if (running_since_) {
        subject.running = std::chrono::floor<std::chrono::milliseconds>(now - *running_since_);
    }
    if (stats_) {
        const auto in = [](std::optional<std::uint64_t> count, std::uint64_t unit) {
            return count ? std::optional{bytes(*count, unit)} : std::nullopt;
        };
        subject.resident = huge_pages_ ? std::optional{subject.memory} : in(stats_->rss_kib, kib);
        const auto rate = write_rate_.least();
        subject.dirty_rate = rate ? rate : in(stats_->dirty_mib_s, mib);
        subject.remaining = stats_->job.data_remaining;
        subject.copy_speed = copy_speed_.fastest();
    }
    return subject;
}

migration::MoveCandidate FollowedLauncher::candidate(SteadyTime now) const {
    const auto& vmi = machine_.vmi();
    const bool wanted = !vmi || vmi->is_to_be_moved();
    const auto duration =
        outlook_.escalated ? std::optional{outlook_.escalated->duration} : outlook_.duration;
    return {.duration = duration.value_or(std::chrono::milliseconds{0}),
            .left = std::chrono::floor<std::chrono::milliseconds>(machine_.cancel_at() - now),
            .wanted = wanted && duration.has_value(),
            .begun = machine_.is_begun(),
            .running = machine_.is_running()};
}

void FollowedLauncher::use(const Made& made, SteadyTime now) {
    assumed_ = made.assumed;
    escalation_ = made.escalation;
    machine_.use(settings_for(made, vmi_uid_), now);
}

migration::HookAnswer FollowedLauncher::answer(SteadyTime now) {
    return observed_ ? migration::HookAnswer{} : machine_.answer(now);
}

/// Under observation the first decision is all that counts.
void FollowedLauncher::settle() {
    const bool let_go = machine_.is_over() || machine_.state() == EvacuationState::given_up;
    if (observed_ && verdict_.empty() && let_go) {
        verdict_ = "only observed: it would not be held: " + machine_.reason();
    }
}

EvacuationState FollowedLauncher::state() const noexcept {
    return verdict_.empty() ? machine_.state() : EvacuationState::released;
}

std::string FollowedLauncher::reason() const {
    return verdict_.empty() ? machine_.reason() : verdict_;
}

bool FollowedLauncher::take_change() {
    auto now = reason();
    if (seen_state_ == state() && seen_reason_ == now) {
        return false;
    }
    seen_state_ = state();
    seen_reason_ = std::move(now);
    seen_over_ = is_over();
    return true;
}

EvacuationLine FollowedLauncher::line(const Clock& clock) const {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(machine_.stop_by() - clock.steady());
    return {.space = space_,
            .vmi = vmi_,
            .vmi_uid = vmi_uid_,
            .pod_uid = pod_uid_,
            .state = state(),
            .reason = reason(),
            .stop_by = clock.wall() + left};
}

}  // namespace scout::agent
