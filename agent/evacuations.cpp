// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuations.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/heartbeat.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

using migration::StepOutcome;

/// The time that is left goes on by itself.
constexpr std::chrono::seconds think_again{1};
/// A launcher remembers its numbers for 3.25 s (dossier §1.4).
constexpr std::chrono::seconds measure_again{3};
constexpr unsigned stock_slots = 2;
/// So long virt-handler waits for an agent that is not there: then its node is left out, with a few
/// seconds for that to be written.
constexpr auto longest_unseen = agent_silence_limit + std::chrono::seconds{5};
/// After a start all launchers have been asked once by then.
constexpr std::chrono::seconds finding{15};

/// Null: the launcher is gone, or has none.
const launcher::Domain* domain_of(const launcher::LauncherTable& launchers,
                                  std::string_view pod_uid) {
    const auto found = launchers.launchers().find(pod_uid);
    if (found == launchers.launchers().end()) {
        return nullptr;
    }
    const auto& domain = found->second.domain;
    return domain ? &*domain : nullptr;
}

}  // namespace

Evacuations::Evacuations(Options options, const Clock& clock, EvacuationMetrics& metrics,
                         std::function<void()> changed)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      changed_(std::move(changed)),
      begun_(clock.steady()),
      slots_(stock_slots) {}

bool Evacuations::is_mode(EvacuationMode mode) const noexcept {
    return rules_ && rules_->mode == mode;
}

/// A leader that is there is heard when there is something to say; so its silence counts from the
/// mark on.
FollowedLauncher::Made Evacuations::made(SteadyTime now) const {
    const auto rules = rules_.value_or(EvacuationRules{});
    FollowedLauncher::Made made{.assumed = options_.assumed, .leader_heard = now, .marked_at = now};
    made.settings.node = options_.node;
    made.settings.act = rules.mode != EvacuationMode::off;
    made.settings.stamp = rules.stamp;
    made.settings.reserve = rules.reserve;
    made.settings.patience = rules.patience;
    made.observed = rules.mode == EvacuationMode::observe;
    made.escalation = rules.escalation;
    made.leader_lost = !there_;
    if (!there_) {
        made.leader_heard = heard_.value_or(now - rules.patience);
    }
    return made;
}

FollowedLauncher* Evacuations::find(std::string_view vmi_uid) {
    FollowedLauncher* found = nullptr;
    for (auto& [pod, each] : followed_) {
        if (each.vmi_uid() == vmi_uid && (found == nullptr || !each.is_over())) {
            found = &each;
        }
    }
    return found;
}

/// Of two launchers with one VMI that were told to stop, one is enough: what is asked for is asked
/// for the VMI.
FollowedLauncher* Evacuations::adopt(const std::string& pod_uid, const launcher::Launcher& launcher,
                                     SteadyTime now) {
    const auto& domain = launcher.domain;
    if (!domain || !is_told_to_stop(*domain)) {
        return nullptr;
    }
    auto* const twin = find(domain->vmi_uid);
    if (disowned_.contains(pod_uid) || (twin != nullptr && !twin->is_over())) {
        return nullptr;
    }
    auto how = made(now);
    how.marked_at = marked_at(pod_uid, launcher, now);
    how.asked_before = how.marked_at < begun_;
    how.node_ends = node_ends_;
    how.handler_stops = handler_stops_;
    const auto [at, added] = followed_.try_emplace(pod_uid, pod_uid, *domain, how, now);
    members_changed_ = members_changed_ || added;
    think(at->second, now);
    return &at->second;
}

void Evacuations::remember(KeptMarks kept) {
    const auto now = clock_.steady();
    marks_ = std::move(kept.marks);
    unseen_since_ = std::max(kept.alive.value_or(now - longest_unseen), now - longest_unseen);
    all_found_at_ = now + finding;
}

SteadyTime Evacuations::marked_at(const std::string& pod_uid, const launcher::Launcher& launcher,
                                  SteadyTime now) {
    const bool unseen = unseen_since_ && now < all_found_at_ && !launcher.unmarked;
    const auto since = unseen ? *unseen_since_ : launcher.marked_since.value_or(now);
    const auto [at, added] = marks_.try_emplace(pod_uid, since);
    marks_revision_ += added ? 1 : 0;
    return at->second;
}

/// In any mode, for the rules may change; and of a migration's target before its guest is there:
/// the launcher counts from its SIGTERM on (dossier §3.2).
void Evacuations::note_marks(const launcher::LauncherTable& launchers, SteadyTime now) {
    const auto& all = launchers.launchers();
    if (now >= all_found_at_) {
        unseen_since_.reset();
    }
    for (const auto& [pod, launcher] : all) {
        if (launcher.domain && launcher.domain->marked) {
            static_cast<void>(marked_at(pod, launcher, now));
        }
    }
    // Before they are found nobody knows which are gone.
    if (!all.empty()) {
        marks_revision_ +=
            std::erase_if(marks_, [&all](const auto& each) { return !all.contains(each.first); });
    }
}

void Evacuations::follow(const launcher::LauncherTable& launchers, SteadyTime now) {
    const auto& all = launchers.launchers();
    for (auto& [pod, each] : followed_) {
        each.saw(domain_of(launchers, pod), now);
    }
    note_marks(launchers, now);
    std::erase_if(disowned_, [&all](const auto& pod) { return !all.contains(pod); });
    if (!rules_ || is_mode(EvacuationMode::off)) {
        return;
    }
    for (const auto& [pod, launcher] : all) {
        if (!followed_.contains(pod)) {
            adopt(pod, launcher, now);
        }
    }
}

void Evacuations::turn(const launcher::LauncherTable& launchers) {
    const auto now = clock_.steady();
    follow(launchers, now);
    expire(now);
    learn_aborts(now);
    look_ahead(now);
    give_orders(now);
    note_all();
}

void Evacuations::expire(SteadyTime now) {
    for (const auto& open : orders_.expire(now)) {
        unanswered(open, now);
    }
}

void Evacuations::unanswered(const EvacuationOrders::Open& open, SteadyTime now) {
    const auto found = followed_.find(open.pod_uid);
    if (found != followed_.end()) {
        found->second.answered(open.order, {.outcome = StepOutcome::unavailable}, now);
    }
}

void Evacuations::node_shuts_down(std::optional<std::chrono::seconds> pods_get,
                                  bool handler_stops) {
    handler_stops_ = handler_stops || !pods_get;
    node_ends_ = pods_get ? std::optional{clock_.steady() + *pods_get} : std::nullopt;
    tell_node_ends();
}

void Evacuations::tell_node_ends() {
    for (auto& [pod, each] : followed_) {
        each.node_ends(node_ends_, handler_stops_);
    }
    changed_();
}

/// The next migrations of this node are cancelled that much earlier.
void Evacuations::learn_aborts(SteadyTime now) {
    for (auto& [pod, each] : followed_) {
        if (const auto took = each.take_abort()) {
            aborts_.add(*took, now);
            metrics_.aborted(*took);
            spdlog::info("migration aborted vmi_uid={} pod={} ms={} slowest_ms={}",
                         log_value(each.vmi_uid()), log_value(pod), took->count(),
                         aborts_.slowest(now).count());
        }
        each.set_slowest_abort(aborts_.slowest(now));
    }
}

void Evacuations::think(FollowedLauncher& launcher, SteadyTime now) const {
    if (options_.kubelet_grace) {
        launcher.kubelet_gives(options_.kubelet_grace(launcher.pod_grace()), now);
    }
    launcher.look_ahead(now);
}

void Evacuations::look_ahead(SteadyTime now) {
    std::vector<FollowedLauncher*> open;
    std::vector<migration::MoveCandidate> candidates;
    for (auto& [pod, each] : followed_) {
        if (!each.is_over()) {
            think(each, now);
            open.push_back(&each);
            candidates.push_back(each.candidate(now));
        }
    }
    const auto in_time = migration::queued_in_time(candidates, slots_);
    for (std::size_t i = 0; i < open.size(); ++i) {
        open[i]->set_queued(in_time[i], now);
    }
}

/// What cannot be asked for now counts as not answered, so that who waits for it goes on.
void Evacuations::give_orders(SteadyTime now) {
    for (auto& [pod, each] : followed_) {
        const bool judged = each.is_observed() && each.is_over();
        if (judged || orders_.has(each.vmi_uid())) {
            continue;
        }
        auto order = each.next(now);
        if (!order) {
            continue;
        }
        if (there_ && !each.is_observed()) {
            const bool decides = each.state() == migration::EvacuationState::suspected;
            orders_.give(each.vmi_uid(), pod, *std::move(order), decides, now);
        } else {
            each.answered(*order, {.outcome = StepOutcome::unavailable}, now);
        }
    }
}

void Evacuations::note(const std::string& pod_uid, FollowedLauncher& launcher) {
    const bool was_over = launcher.was_over();
    if (!launcher.take_change()) {
        return;
    }
    lines_changed_ = true;
    const auto line = launcher.line(clock_);
    spdlog::info("launcher told to stop state={} vmi={} pod={} reason={}",
                 migration::to_string(line.state), log_value(line.space + "/" + line.vmi),
                 log_value(pod_uid), log_value(line.reason));
    if (launcher.is_over() && !was_over) {
        metrics_.ended(line.state, launcher.why());
    }
}

void Evacuations::note_all() {
    EvacuationMetrics::ByState count{};
    for (auto each = followed_.begin(); each != followed_.end();) {
        auto& launcher = each->second;
        note(each->first, launcher);
        // A launcher that is gone takes what is known of it along, once all is done.
        if (launcher.is_gone() && launcher.is_over() && !orders_.has(launcher.vmi_uid())) {
            members_changed_ = true;
            each = followed_.erase(each);
            continue;
        }
        ++count[static_cast<std::size_t>(launcher.state())];
        ++each;
    }
    metrics_.set(count);
}

SteadyTime Evacuations::wake() const {
    const auto now = clock_.steady();
    auto next = orders_.next_expiry();
    if (lines_changed_ && there_ && tell_lines_at_ > now) {
        next = std::min(next, tell_lines_at_);
    }
    for (const auto& [pod, each] : followed_) {
        if (!each.is_over()) {
            next = std::min(next, now + think_again);
        }
        if (const auto time = each.is_observed() ? std::nullopt : each.machine().wake(now)) {
            next = std::min(next, *time);
        }
    }
    return next;
}

std::vector<std::string> Evacuations::to_measure() {
    const auto now = clock_.steady();
    std::vector<std::string> pods;
    for (auto& [pod, each] : followed_) {
        if (!each.is_over() && !each.is_gone() && each.measure_at <= now) {
            each.measure_at = now + measure_again;
            pods.push_back(pod);
        }
    }
    return pods;
}

void Evacuations::measured(const std::string& pod_uid, const launcher::DomainStats& stats) {
    if (const auto found = followed_.find(pod_uid); found != followed_.end()) {
        found->second.measured(stats, clock_.steady());
        changed_();
    }
}

void Evacuations::measured_dirty_rate(const std::string& pod_uid, std::uint64_t mib_s) {
    if (const auto found = followed_.find(pod_uid); found != followed_.end()) {
        found->second.measured_dirty_rate(mib_s, clock_.steady());
        changed_();
    }
}

bool Evacuations::wants_dirty_rate(std::string_view pod_uid) const {
    const auto found = followed_.find(pod_uid);
    return found != followed_.end() && found->second.wants_dirty_rate(clock_.steady());
}

}  // namespace scout::agent
