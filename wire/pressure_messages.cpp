// SPDX-License-Identifier: Apache-2.0
#include "wire/pressure_messages.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/utf8.h"
#include "wire/checks.h"

namespace scout::wire {
namespace {

namespace v1 = virt_scout::v1;
using migration::PressureReport;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Memory and process numbers; bytes and inodes of two filesystems.
constexpr std::size_t most_orders = 2;
constexpr std::size_t most_filesystem_orders = 4;
/// "NAMESPACE/NAME"
constexpr std::size_t full_name_limit = 63 + 1 + name_limit;
/// A kubelet's longest times; sums of some of them stay in range.
constexpr std::uint64_t most_ms = std::uint64_t{31} * 366 * 24 * 3600 * 1000;
constexpr std::uint64_t most_seconds = most_ms / 1000;

std::string clean(std::string_view text, std::size_t limit) {
    return cut(replace_strays(text, [](std::string& to, char) { to += '?'; }), limit);
}

std::uint64_t count_of(std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}
std::uint64_t count_of(std::chrono::seconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

milliseconds ms_of(std::uint64_t count) {
    return milliseconds{std::min(count, most_ms)};
}
seconds seconds_of(std::uint64_t count) {
    return seconds{std::min(count, most_seconds)};
}

void write_line(const migration::PressureLine& line, v1::NodePressure::Threshold& out) {
    out.set_signal(std::string{to_string(line.signal)});
    if (line.soft_grace) {
        out.set_soft_grace_ms(count_of(*line.soft_grace));
    }
    if (line.room) {
        out.set_available(line.room->available);
        out.set_capacity(line.room->capacity);
    }
    out.set_at(line.at);
    if (line.reached) {
        out.set_reached_in_ms(count_of(line.reached->in));
        out.set_confidence(line.reached->confidence);
        if (line.reached->pace) {
            out.set_pace(*line.reached->pace);
        }
    }
    if (line.passed_for) {
        out.set_passed_for_ms(count_of(*line.passed_for));
    }
    if (line.evicts_in) {
        out.set_evicts_in_ms(count_of(*line.evicts_in));
    }
    out.set_warned(line.warned);
}

void write_launcher(const migration::PressedLauncher& launcher, v1::NodePressure::Launcher& out) {
    out.set_vmi(clean(launcher.vmi, full_name_limit));
    out.set_pod_uid(clean(launcher.pod_uid, name_limit));
    if (launcher.usage) {
        out.set_usage(*launcher.usage);
    }
    if (launcher.request) {
        out.set_request(*launcher.request);
    }
    if (launcher.priority) {
        out.set_priority(*launcher.priority);
    }
    if (launcher.vm_grace) {
        out.set_vm_grace_seconds(count_of(*launcher.vm_grace));
    }
}

void write_order(const migration::EvictionLine& order, v1::NodePressure::Order& out) {
    out.set_signal(std::string{to_string(order.signal)});
    const auto count = std::min(order.first.size(), migration::told_near);
    for (std::size_t i = 0; i < count; ++i) {
        write_launcher(order.first[i], *out.add_first());
    }
    out.set_others(order.others + order.first.size() - count);
}

std::optional<migration::PressureSignal> signal_of(std::string_view field, const std::string& word,
                                                   Checks& checks) {
    const auto signal = migration::signal_named(word);
    if (!signal) {
        checks.fault(field, "a signal of the kubelet", cut(word));
    }
    return signal;
}

/// What is no number from 0 to 1 says nothing.
double confidence_of(double value) {
    return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0;
}

/// What is no number, or falls by nothing, is not known.
std::optional<double> pace_of(const v1::NodePressure::Threshold& message) {
    const bool falls = message.has_pace() && std::isfinite(message.pace()) && message.pace() > 0;
    return falls ? std::optional{message.pace()} : std::nullopt;
}

migration::PressureLine line_from(const v1::NodePressure::Threshold& message, Checks& checks) {
    migration::PressureLine line;
    line.signal = signal_of("thresholds.signal", message.signal(), checks)
                      .value_or(migration::PressureSignal::memory_available);
    if (message.has_soft_grace_ms()) {
        line.soft_grace = ms_of(message.soft_grace_ms());
    }
    if (message.has_available() && message.has_capacity()) {
        line.room = {.available = message.available(), .capacity = message.capacity()};
    }
    line.at = message.at();
    if (message.has_reached_in_ms()) {
        line.reached = {.in = ms_of(message.reached_in_ms()),
                        .confidence = confidence_of(message.confidence()),
                        .pace = pace_of(message)};
    }
    if (message.has_passed_for_ms()) {
        line.passed_for = ms_of(message.passed_for_ms());
    }
    if (message.has_evicts_in_ms()) {
        line.evicts_in = ms_of(message.evicts_in_ms());
    }
    line.warned = message.warned();
    return line;
}

migration::EvictionLine order_from(const v1::NodePressure::Order& message, Checks& checks) {
    migration::EvictionLine order;
    order.signal = signal_of("order.signal", message.signal(), checks)
                       .value_or(migration::PressureSignal::memory_available);
    order.others = message.others();
    if (!checks.count("order.first", message.first_size(), migration::told_near)) {
        return order;
    }
    for (const auto& one : message.first()) {
        migration::PressedLauncher launcher{.vmi = cut(one.vmi(), full_name_limit),
                                            .pod_uid = cut(one.pod_uid()),
                                            .usage = std::nullopt,
                                            .request = std::nullopt,
                                            .priority = std::nullopt,
                                            .vm_grace = std::nullopt};
        if (one.has_usage()) {
            launcher.usage = one.usage();
        }
        if (one.has_request()) {
            launcher.request = one.request();
        }
        if (one.has_priority()) {
            launcher.priority = one.priority();
        }
        if (one.has_vm_grace_seconds()) {
            launcher.vm_grace = seconds_of(one.vm_grace_seconds());
        }
        order.first.push_back(std::move(launcher));
    }
    return order;
}

std::optional<migration::KubeletGraces> graces_from(const v1::NodePressure& message) {
    if (!message.kubelet_known()) {
        return std::nullopt;
    }
    migration::KubeletGraces graces;
    if (message.has_soft_grace_seconds()) {
        graces.soft = seconds_of(message.soft_grace_seconds());
    }
    if (message.has_shutdown_grace_seconds()) {
        graces.shutdown = seconds_of(message.shutdown_grace_seconds());
    }
    graces.handler_stops = message.handler_stops();
    return graces;
}

}  // namespace

v1::NodePressure to_wire(const PressureReport& report) {
    v1::NodePressure out;
    const auto lines = std::min(report.lines.size(), migration::most_lines);
    for (std::size_t i = 0; i < lines; ++i) {
        write_line(report.lines[i], *out.add_thresholds());
    }
    for (const auto& order : report.order) {
        const bool storage = is_of_filesystem(order.signal);
        auto& orders = storage ? *out.mutable_filesystem_order() : *out.mutable_order();
        const auto most = storage ? most_filesystem_orders : most_orders;
        if (static_cast<std::size_t>(orders.size()) < most) {
            write_order(order, *orders.Add());
        }
    }
    if (report.graces) {
        out.set_kubelet_known(true);
        if (report.graces->soft) {
            out.set_soft_grace_seconds(count_of(*report.graces->soft));
        }
        if (report.graces->shutdown) {
            out.set_shutdown_grace_seconds(count_of(*report.graces->shutdown));
        }
        out.set_handler_stops(report.graces->handler_stops);
    }
    out.set_short_guests(report.short_guests);
    out.set_longest_wanted_seconds(count_of(report.longest_wanted));
    out.set_trouble(clean(report.trouble, text_limit));
    return out;
}

Result<PressureReport> from_wire(const v1::NodePressure& message) {
    Checks checks;
    PressureReport report;
    if (checks.count("thresholds", message.thresholds_size(), migration::most_lines) &&
        checks.count("order", message.order_size(), most_orders) &&
        checks.count("filesystem_order", message.filesystem_order_size(), most_filesystem_orders)) {
        for (const auto& line : message.thresholds()) {
            report.lines.push_back(line_from(line, checks));
        }
        for (const auto& order : message.order()) {
            report.order.push_back(order_from(order, checks));
        }
        for (const auto& order : message.filesystem_order()) {
            report.order.push_back(order_from(order, checks));
        }
    }
    report.graces = graces_from(message);
    if (report.graces) {
        report.graces->hard_alone = migration::hard_alone(report.lines);
    }
    report.short_guests = message.short_guests();
    report.longest_wanted = seconds_of(message.longest_wanted_seconds());
    report.trouble = cut(message.trouble(), text_limit);
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return report;
}

v1::LauncherStandings to_wire(const migration::PodStandings& standings) {
    v1::LauncherStandings out;
    for (const auto& [uid, standing] : standings) {
        if (static_cast<std::size_t>(out.launchers_size()) == most_standings) {
            break;
        }
        auto& told = *out.add_launchers();
        told.set_pod_uid(clean(uid, name_limit));
        told.set_priority(standing.priority);
        told.set_memory_request(standing.memory_request);
        told.set_storage_request(standing.storage_request);
    }
    return out;
}

migration::PodStandings from_wire(const v1::LauncherStandings& message) {
    migration::PodStandings standings;
    for (const auto& told : message.launchers()) {
        if (standings.size() == most_standings) {
            break;
        }
        standings[cut(told.pod_uid())] = {.priority = told.priority(),
                                          .memory_request = told.memory_request(),
                                          .storage_request = told.storage_request()};
    }
    return standings;
}

}  // namespace scout::wire
