// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "agent/pressure_watch.h"
#include "base/logging.h"

/// What the watch tells others: the aggregator, the log, metrics and health.
namespace scout::agent {
namespace {

using migration::PressureSignal;
using std::chrono::seconds;

constexpr std::chrono::minutes shutdown_tell{10};
constexpr std::size_t named_pods = 3;

std::string whole_seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::floor<seconds>(time).count()) + "s";
}

const char* kind_of(const migration::EvictionThreshold& threshold) {
    return threshold.soft_grace ? "soft" : "hard";
}

bool has_soft_threshold(const migration::KubeletEviction& kubelet) {
    return std::any_of(kubelet.thresholds.begin(), kubelet.thresholds.end(),
                       [](const auto& threshold) { return threshold.soft_grace.has_value(); });
}

}  // namespace

migration::PressureReport PressureWatch::report(SteadyTime now) const {
    migration::PressureReport report;
    for (const auto& outlook : pressure_.outlooks()) {
        report.lines.push_back(migration::line_of(outlook, now));
    }
    report.order = launchers_.lines(pressure_.near());
    if (files_) {
        report.graces = graces();
        report.graces->hard_alone = migration::hard_alone(report.lines);
    }
    const auto [count, longest] = short_guests();
    report.short_guests = count;
    report.longest_wanted = longest;
    report.trouble = trouble();
    return report;
}

migration::KubeletGraces PressureWatch::graces() const {
    migration::KubeletGraces graces{.soft = std::nullopt,
                                    .shutdown = given_at_shutdown(),
                                    .handler_stops = handler_stops_with_vms(kubelet_.shutdown)};
    if (has_soft_threshold(kubelet_.eviction)) {
        graces.soft = kubelet_.eviction.max_pod_grace;
    }
    return graces;
}

void PressureWatch::hand_over(SteadyTime now) {
    teller_.take(report(now));
    if (parts_.tell && teller_.is_due(now)) {
        parts_.tell();
    }
}

std::string PressureWatch::first_evicted(PressureSignal signal) const {
    std::string names;
    std::size_t count = 0;
    for (const auto& one : launchers_.ranked(signal)) {
        if (++count > named_pods) {
            return names + ",…";
        }
        names += names.empty() ? "" : ",";
        names += one.vmi.empty() ? one.pod_uid : one.vmi;
    }
    return names.empty() ? "unknown" : names;
}

void PressureWatch::tell(const migration::PressureChange& change) const {
    const auto& outlook = pressure_.outlooks()[change.threshold];
    const auto& threshold = outlook.threshold;
    if (!change.began) {
        spdlog::info("node pressure is over signal={} kind={}", to_string(threshold.signal),
                     kind_of(threshold));
        return;
    }
    const auto& kubelet = kubelet_.eviction;
    spdlog::warn(
        "node pressure is coming signal={} kind={} available={} threshold={} in={} "
        "confidence={:.2f} "
        "evicts_in={} pods_get_at_most={}s first={}",
        to_string(threshold.signal), kind_of(threshold), outlook.room ? outlook.room->available : 0,
        outlook.at, whole_seconds(outlook.reached ? outlook.reached->in : seconds{0}),
        outlook.reached ? outlook.reached->confidence : 0,
        whole_seconds(outlook.evicts_in.value_or(seconds{0})),
        eviction_grace(threshold, kubelet, std::max(kubelet.max_pod_grace, seconds{0})).count(),
        log_value(first_evicted(threshold.signal)));
}

std::optional<seconds> PressureWatch::given_at_shutdown() const {
    return shutdown_grace(kubelet_.shutdown,
                          parts_.login ? parts_.login() : std::optional<migration::LoginManager>{});
}

PressureWatch::ShortGuests PressureWatch::short_guests() const {
    ShortGuests found;
    if (!files_) {
        return found;
    }
    const auto given = given_at_shutdown().value_or(seconds{0});
    for (const auto& pod : launchers_.pods) {
        const auto wanted = pod.vm_grace.value_or(seconds{0});
        if (wanted > given) {
            ++found.count;
            found.longest = std::max(found.longest, wanted);
        }
    }
    return found;
}

/// Case 20: a guest that asks for longer than the kubelet waits is cut off.
void PressureWatch::tell_shutdown(SteadyTime now) {
    const auto given = given_at_shutdown();
    const auto [short_guests, longest] = this->short_guests();
    metrics_.take_shutdown(given, short_guests);
    if (short_guests == 0) {
        short_guests_ = 0;
        return;
    }
    if (short_guests == short_guests_ || now < shutdown_due_) {
        return;
    }
    short_guests_ = short_guests;
    shutdown_due_ = now + shutdown_tell;
    spdlog::warn(
        "guests ask for more time than they get when this node shuts down: {} guests={} "
        "longest={}s given={}",
        how_to_give_more(kubelet_.shutdown), short_guests, longest.count(),
        given ? std::to_string(given->count()) + "s" : "nothing, the kubelet does not wait");
}

void PressureWatch::note_warnings() {
    std::string warnings;
    for (const auto& outlook : pressure_.outlooks()) {
        if (outlook.warned) {
            warnings += (warnings.empty() ? "" : "; ") +
                        std::string{to_string(outlook.threshold.signal)} +
                        (outlook.passed_since ? " is below"
                         : outlook.reached    ? " reaches in " + whole_seconds(outlook.reached->in)
                                              : " was near") +
                        " the kubelet's " + kind_of(outlook.threshold) + " threshold";
        }
    }
    parts_.health.note("node pressure", std::move(warnings));
}

}  // namespace scout::agent
