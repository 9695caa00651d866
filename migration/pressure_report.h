// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "migration/eviction_thresholds.h"
#include "migration/node_pressure.h"
#include "migration/pressure_trend.h"
#include "migration/vm_protection.h"

/// What a node's agent tells others of its pressure, and when it is worth telling. Pure; any
/// thread; nothing here fails.
namespace scout::migration {

/// One threshold of the kubelet. Times are ages, so that they mean something elsewhere.
struct PressureLine {
    PressureSignal signal{};
    /// None: a hard one. Else a soft one, that acts when it was passed for so long.
    std::optional<std::chrono::milliseconds> soft_grace;
    std::optional<SignalRoom> room;        ///< none: could not be read
    std::uint64_t at = 0;                  ///< where it lies, in the unit of the signal
    std::optional<TrendForecast> reached;  ///< none: it is not being approached, as far as known
    std::optional<std::chrono::milliseconds> passed_for;
    std::optional<std::chrono::milliseconds> evicts_in;
    bool warned = false;  ///< expected or passed within the last minutes

    friend bool operator==(const PressureLine&, const PressureLine&) = default;
};
[[nodiscard]] PressureLine line_of(const ThresholdOutlook& outlook, SteadyTime now);
/// Signals with a hard threshold and no soft one. Of what all pods together may take only where it
/// is known how much is left.
[[nodiscard]] std::vector<PressureSignal> hard_alone(const std::vector<PressureLine>& lines);

struct PressedLauncher {
    std::string vmi;  ///< "NAMESPACE/NAME"; empty: not known
    std::string pod_uid;
    std::optional<std::uint64_t> usage;            ///< in the unit of the signal; none: not known
    std::optional<std::uint64_t> request = {};     ///< none: not known, and counts as 0
    std::optional<std::int64_t> priority = {};     ///< likewise
    std::optional<std::chrono::seconds> vm_grace;  ///< what its owner lets it take to shut down

    friend bool operator==(const PressedLauncher&, const PressedLauncher&) = default;
};

/// Launchers in the order in which the kubelet is expected to evict them for one signal, and those
/// that are ranked as it.
struct EvictionLine {
    PressureSignal signal{};
    std::vector<PressedLauncher> first;
    std::size_t others = 0;  ///< that come behind

    friend bool operator==(const EvictionLine&, const EvictionLine&) = default;
};

struct PressureReport {
    std::vector<PressureLine> lines;
    std::vector<EvictionLine> order;
    std::optional<KubeletGraces> graces;  ///< none: the kubelet's configuration is not known
    std::size_t short_guests = 0;         ///< VMs that want more time at a shutdown than it gives
    std::chrono::seconds longest_wanted{0};  ///< of them
    std::string trouble;                     ///< what is not known in full, and why; empty: all is

    friend bool operator==(const PressureReport&, const PressureReport&) = default;
};

/// So many launchers of an order are told; of a signal of which a threshold is near, so that those
/// are among them that can be moved, more.
inline constexpr std::size_t told_launchers = 5;
inline constexpr std::size_t told_near = 50;
/// So many lines are taken of what is told: nine signals, each with a hard and a soft threshold.
inline constexpr std::size_t most_lines = 18;

/// A threshold is expected, or passed.
[[nodiscard]] bool is_near(const PressureReport& report) noexcept;

/// Whether `now` is worth a message, so long after `told`: warnings at once, all else every ten
/// seconds at most; while nothing is near only steps of a twentieth, and what is not measured; who
/// would go first then every ten minutes at most.
[[nodiscard]] bool is_worth_telling(const PressureReport& told, const PressureReport& now,
                                    std::chrono::milliseconds since);

/// Thresholds of which a warning began with `now`; `before` may be null.
[[nodiscard]] std::vector<const PressureLine*> begun_warnings(const PressureReport* before,
                                                              const PressureReport& now);

}  // namespace scout::migration
