// SPDX-License-Identifier: Apache-2.0
#include "migration/evacuation_outlook.h"

#include <algorithm>
#include <cstddef>

#include "migration/move_queue.h"

namespace scout::migration {
namespace {

using std::chrono::milliseconds;

Range exactly(std::uint64_t value) {
    return {.least = value, .likely = value, .most = value};
}

MigrationLoad load_of(const MoveSubject& subject, const MoveAssumptions& assumed,
                      std::uint64_t bytes, milliseconds setup) {
    constexpr std::uint64_t shared = 2;
    constexpr std::uint64_t worst = 10;
    return {.memory = {.least = bytes, .likely = bytes, .most = std::max(bytes, subject.memory)},
            .dirty_rate = exactly(subject.dirty_rate.value_or(0)),
            .bandwidth = {.least = assumed.bandwidth / worst,
                          .likely = assumed.bandwidth / shared,
                          .most = assumed.bandwidth},
            .disks = subject.disks,
            .setup = setup};
}

/// It will be in post-copy by our own doing, and be lost if that does not end.
bool is_careful(const MoveSubject& subject) {
    return subject.escalated && subject.settings.allow_post_copy;
}

/// How long a move of so much takes at best; none: it does not end.
std::optional<milliseconds> best_case(const MoveSubject& subject, const MoveAssumptions& assumed,
                                      std::uint64_t bytes, milliseconds setup) {
    const auto load = load_of(subject, assumed, bytes, setup);
    const auto course =
        judged_course(load, subject.settings, subject.downtime,
                      is_careful(subject) ? Escalation::post_copy : Escalation::none);
    return course.moved() ? std::optional{course.duration} : std::nullopt;
}

/// More than the guest's memory is QEMU's own.
std::uint64_t whole_of(const MoveSubject& subject) {
    return std::min(subject.resident.value_or(0), subject.memory);
}

/// By the assumed link as long as it is not known to be slower. It may be shared with a move that
/// ends soon, and what the guest writes in a moment says little of the next: so what was seen
/// counts twice, and for a guest that writes nothing.
std::optional<milliseconds> rest_of(MoveSubject subject, std::uint64_t remaining,
                                    MoveAssumptions assumed) {
    const auto whole = whole_of(subject);
    const bool copies_disks = remaining > subject.memory;
    const auto rest = subject.resident && !copies_disks ? std::min(remaining, whole) : remaining;
    const auto speed = subject.copy_speed.value_or(assumed.bandwidth);
    assumed.bandwidth = std::max(assumed.bandwidth, speed);
    // What is left of them is part of the rest.
    subject.disks.bytes = {};
    const auto by_link = best_case(subject, assumed, rest, milliseconds{0});
    if (!by_link || !subject.copy_speed) {
        return by_link;
    }
    subject.dirty_rate.reset();
    assumed.bandwidth = std::min(speed, assumed.bandwidth / 2) * 2;
    const auto by_speed = best_case(subject, assumed, rest, milliseconds{0});
    return by_speed ? std::max(by_link, by_speed) : by_link;
}

std::optional<milliseconds> duration_of(const MoveSubject& subject,
                                        const MoveAssumptions& assumed) {
    if (subject.running && subject.remaining && !is_careful(subject)) {
        return rest_of(subject, *subject.remaining, assumed);
    }
    auto whole = best_case(subject, assumed, whole_of(subject), assumed.setup);
    if (whole && subject.running) {
        // The setup is over, whether it took that long or not.
        whole = std::max(milliseconds{0}, *whole - assumed.setup - *subject.running);
    }
    return whole;
}

/// One that was handed off goes on as it was, and a policy that is there already is not made anew:
/// how long the move takes by it is known.
std::optional<EscalatedMove> escalation_of(const MoveSubject& subject,
                                           const MoveAssumptions& assumed,
                                           std::optional<milliseconds> duration) {
    const bool in_time = subject.left && duration && *duration <= *subject.left;
    const bool never = subject.escalation == Escalation::post_copy && subject.tied;
    if (!subject.left || in_time || never || subject.running || subject.escalated ||
        subject.handed_off) {
        return std::nullopt;
    }
    return escalated_move(load_of(subject, assumed, whole_of(subject), assumed.setup),
                          subject.settings, subject.downtime, subject.escalation, *subject.left);
}

}  // namespace

Outlook outlook_of(const MoveSubject& subject, const MoveAssumptions& assumed) {
    auto abort = subject.abort;
    abort.memory = subject.memory;
    const auto duration = duration_of(subject, assumed);
    return {.budget = stop_budget(subject.times),
            .duration = duration,
            .escalated = escalation_of(subject, assumed, duration),
            .abort_time = abort_time(abort),
            .liveness_kill = subject.liveness_kill,
            .handler_stops = subject.handler_stops,
            .pod_failed = subject.pod_failed};
}

MigrationForecast forecast_of(const MoveSubject& subject, const MoveAssumptions& assumed) {
    return forecast(load_of(subject, assumed, whole_of(subject), assumed.setup), subject.settings,
                    subject.downtime);
}

std::vector<bool> queued_in_time(const std::vector<MoveCandidate>& candidates, unsigned slots) {
    std::vector<bool> in_time(candidates.size(), true);
    std::vector<QueuedMove> queue;
    std::vector<std::size_t> places;
    MoveSlots free{.at_once = slots};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto& one = candidates[i];
        if (one.running) {
            free.running += one.duration;
        } else if (one.wanted) {
            queue.push_back({.duration = one.duration, .left = one.left, .held = one.begun});
            places.push_back(i);
        }
    }
    const auto fits = moves_that_fit(queue, free);
    for (std::size_t i = 0; i < places.size(); ++i) {
        in_time[places[i]] = fits[i];
    }
    return in_time;
}

}  // namespace scout::migration
