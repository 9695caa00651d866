// SPDX-License-Identifier: Apache-2.0
#include "migration/pressure_report.h"

#include <algorithm>

namespace scout::migration {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds urgent_every = 1s;
constexpr milliseconds tell_every = 10s;
constexpr milliseconds order_every = 10min;
/// Of what there is in all.
constexpr std::uint64_t steps = 20;

bool is_same_threshold(const PressureLine& a, const PressureLine& b) {
    return a.signal == b.signal && a.soft_grace == b.soft_grace;
}

const PressureLine* find_line(const PressureReport& report, const PressureLine& line) {
    const auto found =
        std::find_if(report.lines.begin(), report.lines.end(),
                     [&line](const auto& each) { return is_same_threshold(each, line); });
    return found == report.lines.end() ? nullptr : &*found;
}

/// A warning began or ended, or what was expected has come.
bool is_urgent(const PressureReport& told, const PressureReport& now) {
    return std::any_of(now.lines.begin(), now.lines.end(), [&told](const PressureLine& line) {
        const auto* before = find_line(told, line);
        const bool warned = before != nullptr && before->warned;
        const bool passed = before != nullptr && before->passed_for.has_value();
        return warned != line.warned || passed != line.passed_for.has_value();
    });
}

bool is_step(const std::optional<SignalRoom>& before, const std::optional<SignalRoom>& now) {
    if (!before || !now) {
        return before.has_value() != now.has_value();
    }
    const auto moved = before->available > now->available ? before->available - now->available
                                                          : now->available - before->available;
    return before->capacity != now->capacity ||
           moved >= std::max<std::uint64_t>(1, now->capacity / steps);
}

bool has_step(const PressureReport& told, const PressureReport& now) {
    return told.lines.size() != now.lines.size() ||
           !std::equal(now.lines.begin(), now.lines.end(), told.lines.begin(),
                       [](const PressureLine& a, const PressureLine& b) {
                           return is_same_threshold(a, b) && a.at == b.at &&
                                  !is_step(b.room, a.room);
                       });
}

bool has_other_settings(const PressureReport& told, const PressureReport& now) {
    return told.graces != now.graces || told.trouble != now.trouble ||
           told.short_guests != now.short_guests || told.longest_wanted != now.longest_wanted;
}

bool has_other_order(const PressureReport& told, const PressureReport& now) {
    const auto same_pods = [](const EvictionLine& a, const EvictionLine& b) {
        return a.signal == b.signal &&
               std::equal(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(),
                          [](const auto& one, const auto& other) {
                              return one.pod_uid == other.pod_uid && one.vmi == other.vmi;
                          });
    };
    return !std::equal(told.order.begin(), told.order.end(), now.order.begin(), now.order.end(),
                       same_pods);
}

}  // namespace

PressureLine line_of(const ThresholdOutlook& outlook, SteadyTime now) {
    PressureLine line{.signal = outlook.threshold.signal,
                      .soft_grace = outlook.threshold.soft_grace,
                      .room = outlook.room,
                      .at = outlook.at,
                      .reached = outlook.reached,
                      .passed_for = std::nullopt,
                      .evicts_in = outlook.evicts_in,
                      .warned = outlook.warned};
    if (outlook.passed_since) {
        line.passed_for = std::chrono::floor<milliseconds>(now - *outlook.passed_since);
    }
    return line;
}

std::vector<PressureSignal> hard_alone(const std::vector<PressureLine>& lines) {
    std::vector<PressureSignal> out;
    for (const auto& line : lines) {
        const bool softened = std::any_of(lines.begin(), lines.end(), [&line](const auto& other) {
            return other.signal == line.signal && other.soft_grace;
        });
        // That one has a threshold also where there is no cgroup of all pods.
        const bool there = line.room || line.signal != PressureSignal::allocatable_memory_available;
        if (!softened && there) {
            out.push_back(line.signal);
        }
    }
    return out;
}

bool is_near(const PressureReport& report) noexcept {
    return std::any_of(report.lines.begin(), report.lines.end(),
                       [](const PressureLine& line) { return line.warned || line.passed_for; });
}

bool is_worth_telling(const PressureReport& told, const PressureReport& now, milliseconds since) {
    if (since < urgent_every) {
        return false;
    }
    if (is_urgent(told, now)) {
        return true;
    }
    if (since < tell_every) {
        return false;
    }
    if (is_near(now)) {
        return told != now;
    }
    return has_step(told, now) || has_other_settings(told, now) ||
           (since >= order_every && has_other_order(told, now));
}

std::vector<const PressureLine*> begun_warnings(const PressureReport* before,
                                                const PressureReport& now) {
    std::vector<const PressureLine*> begun;
    for (const auto& line : now.lines) {
        const auto* known = before == nullptr ? nullptr : find_line(*before, line);
        if (line.warned && (known == nullptr || !known->warned)) {
            begun.push_back(&line);
        }
    }
    return begun;
}

}  // namespace scout::migration
