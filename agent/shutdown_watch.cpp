// SPDX-License-Identifier: Apache-2.0
#include "agent/shutdown_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::agent {

using std::chrono::seconds;

ShutdownWatch::ShutdownWatch(Parts parts)
    : parts_(std::move(parts)),
      manager_({.loop = parts_.loop,
                .socket = parts_.system_bus,
                .changed = [this] { changed(); },
                .again = parts_.again}),
      shutting_down_(parts_.registry, "virt_scout_node_shutting_down",
                     "1 while the node shuts down; not there while that is not known.") {}

std::optional<seconds> ShutdownWatch::grace() const {
    const auto& state = manager_.state();
    const auto kubelet = parts_.kubelet();
    if (!kubelet || (state && !begun_at_)) {
        return std::nullopt;
    }
    const auto given = migration::shutdown_grace(*kubelet, state);
    if (!given || !begun_at_) {
        return given;
    }
    const auto gone = std::chrono::ceil<seconds>(parts_.clock.steady() - *begun_at_);
    return std::max(*given - gone, seconds{0});
}

/// What keeps pods from being given what the kubelet's configuration says.
std::string ShutdownWatch::doubt() const {
    const auto& state = manager_.state();
    const auto kubelet = parts_.kubelet();
    const auto wanted = kubelet ? migration::delay_of(*kubelet) : std::chrono::milliseconds{0};
    if (!state || state->shutting_down || wanted <= std::chrono::milliseconds{0}) {
        return {};
    }
    const auto text = std::to_string(std::chrono::floor<seconds>(wanted).count()) + " s";
    if (!state->kubelet_delays) {
        return "the kubelet is set to delay a shutdown by " + text +
               ", but holds no delay lock of logind: pods get no time; restart the kubelet, and "
               "look into its log for \"Inhibit\"";
    }
    if (state->longest_delay < wanted) {
        return "the kubelet is set to delay a shutdown by " + text + ", but logind waits " +
               std::to_string(std::chrono::floor<seconds>(state->longest_delay).count()) +
               " s at most: raise InhibitDelayMaxSec in logind.conf";
    }
    return {};
}

std::string ShutdownWatch::left_text(std::optional<seconds> left) const {
    if (left) {
        return std::to_string(left->count()) + "s";
    }
    return parts_.kubelet() ? "nothing, the kubelet does not wait"
                            : "unknown, for the kubelet's configuration is not";
}

void ShutdownWatch::changed() {
    const auto& state = manager_.state();
    GaugeSet::Values shown;
    if (state) {
        shown[{}] = state->shutting_down ? 1 : 0;
    }
    shutting_down_.take(shown);
    const bool down = state && state->shutting_down;
    parts_.health.note("node shutdown", down    ? "the node shuts down"
                                        : state ? doubt()
                                                : "it would not be seen: " + manager_.trouble());
    if (auto now = doubt(); told_ != now) {
        told_ = std::move(now);
        if (!told_.empty()) {
            spdlog::warn("pods get less time than the kubelet says reason={}", log_value(told_));
        }
    }
    if (down == begun_at_.has_value()) {
        return;
    }
    begun_at_ = down ? std::optional{parts_.clock.steady()} : std::nullopt;
    const auto left = grace();
    if (down) {
        spdlog::warn("the node shuts down, and its pods are told to stop pods_get={}",
                     left_text(left));
    } else {
        spdlog::info("the node does not shut down any more");
    }
    if (parts_.turned) {
        parts_.turned(down, left);
    }
}

void ShutdownWatch::tell_again() {
    if (begun_at_ && parts_.turned) {
        parts_.turned(true, grace());
    }
}

}  // namespace scout::agent
