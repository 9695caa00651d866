// SPDX-License-Identifier: Apache-2.0
#include "kube/lease.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kube/resource_version.h"

namespace scout::kube {
namespace {

/// The API server takes no more than an int32, and a lease that it refuses could never be led.
std::int64_t next_number(std::int64_t transitions) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    return std::clamp<std::int64_t>(transitions, 0, most - 1) + 1;
}

/// As client-go leaves it: free, and for those who wait all the same a second long.
constexpr std::chrono::seconds released_duration{1};

}  // namespace

std::string check(const LeaseSettings& settings) {
    if (settings.identity.empty()) {
        return "the identity in the lease election must not be empty";
    }
    const bool ordered = settings.retry.count() > 0 && settings.retry < settings.renew_deadline &&
                         settings.renew_deadline < settings.duration;
    return ordered ? std::string{}
                   : "expected retry < renew deadline < duration of the lease, found " +
                         std::to_string(settings.retry.count()) + ", " +
                         std::to_string(settings.renew_deadline.count()) + " and " +
                         std::to_string(settings.duration.count()) + " ms";
}

LeaseElection::LeaseElection(LeaseSettings settings) : settings_(std::move(settings)) {}

LeaseElection::Request LeaseElection::attempt(SteadyTime now, WallTime wall) {
    if (look_first_ || !may_write(now)) {
        return {.verb = Verb::read};
    }
    return {.verb = Verb::update, .record = mine(wall), .version = observed_.version};
}

std::optional<LeaseElection::Request> LeaseElection::read_answer(SteadyTime now, WallTime wall,
                                                                 std::optional<StoredLease> lease) {
    if (vanished_under_holder(now, lease)) {
        // Its holder may have renewed it right before, unseen: the time counts from this change.
        observe(now, {.record = observed_.record, .version = lease ? lease->version : ""});
        may_write_until_ = SteadyTime::min();
        return std::nullopt;
    }
    if (!lease) {
        observe(now, {});
        return Request{.verb = Verb::create, .record = mine(wall)};
    }
    observe(now, std::move(*lease));
    const auto& record = observed_.record;
    const bool held =
        !record.holder.empty() && record.holder != settings_.identity && now < free_at();
    if (held) {
        may_write_until_ = SteadyTime::min();
        return std::nullopt;
    }
    return Request{.verb = Verb::update, .record = mine(wall), .version = observed_.version};
}

bool LeaseElection::vanished_under_holder(SteadyTime now,
                                          const std::optional<StoredLease>& lease) const {
    const auto& last = observed_.record;
    if (last.holder.empty() || last.holder == settings_.identity || now >= free_at()) {
        return false;
    }
    if (!lease) {
        return true;
    }
    const auto& found = lease->record;
    if (found.holder.empty()) {
        // A release is newer than the lease that it frees; another is out of a backup.
        const auto order = compare_versions(lease->version, observed_.version);
        return found.duration != released_duration || order == VersionOrder::older ||
               order == VersionOrder::equal;
    }
    // A lease of ours that another took over comes back out of a backup only.
    return found.holder == settings_.identity;
}

void LeaseElection::written(SteadyTime now, SteadyTime sent, StoredLease lease) {
    observe(now, std::move(lease));
    look_first_ = observed_.record.holder != settings_.identity;
    may_write_until_ = look_first_ ? SteadyTime::min() : sent + settings_.renew_deadline;
}

void LeaseElection::conflicted() noexcept {
    look_first_ = true;
    may_write_until_ = SteadyTime::min();
}

std::optional<LeaseElection::Request> LeaseElection::release(WallTime wall) {
    const bool leads =
        may_write_until_ != SteadyTime::min() && observed_.record.holder == settings_.identity;
    may_write_until_ = SteadyTime::min();
    look_first_ = true;
    if (!leads) {
        return std::nullopt;
    }
    LeaseRecord free{.duration = released_duration,
                     .acquired = wall,
                     .renewed = wall,
                     .transitions = observed_.record.transitions};
    return Request{.verb = Verb::update, .record = std::move(free), .version = observed_.version};
}

LeaseRecord LeaseElection::mine(WallTime wall) const {
    const auto& last = observed_.record;
    const bool again = last.holder == settings_.identity;
    return {.holder = settings_.identity,
            .duration = std::chrono::ceil<std::chrono::seconds>(settings_.duration),
            .acquired = again && last.acquired ? last.acquired : std::optional{wall},
            .renewed = wall,
            .transitions = observed_.version.empty() ? 0
                           : again                   ? last.transitions
                                                     : next_number(last.transitions)};
}

void LeaseElection::observe(SteadyTime now, StoredLease lease) {
    if (lease.version != observed_.version) {
        observed_at_ = now;
    }
    observed_ = std::move(lease);
}

}  // namespace scout::kube
