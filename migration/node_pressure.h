// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "migration/eviction_thresholds.h"
#include "migration/pressure_trend.h"

/// How near a node is to the eviction of its pods, seen before its kubelet sees it (design §6,
/// "Before the mark"; dossier §12.1). Pure; one thread at a time.
namespace scout::migration {

/// What is left of one thing, in the unit of its signal: bytes, inodes, process numbers.
struct SignalRoom {
    std::uint64_t available = 0;
    std::uint64_t capacity = 0;

    friend bool operator==(const SignalRoom&, const SignalRoom&) = default;
};
/// What could not be read is not there.
using NodeRoom = std::map<PressureSignal, SignalRoom>;

struct PressurePolicy {
    std::chrono::milliseconds ahead = std::chrono::minutes{10};  ///< warned of what comes within
    /// What was not expected any more for so long is over. Bounds how often a warning begins.
    std::chrono::milliseconds calm = std::chrono::minutes{2};
    std::chrono::milliseconds close_look = std::chrono::seconds{1};
    /// One look for each block of a trend: further apart it would begin anew with each.
    std::chrono::milliseconds quiet_look = PressureTrend::block_time;
};

/// One threshold of the kubelet, and how near it is.
struct ThresholdOutlook {
    EvictionThreshold threshold;
    std::optional<SignalRoom> room;        ///< none: could not be read last time
    std::uint64_t at = 0;                  ///< where the threshold lies, in the unit of the signal
    std::optional<TrendForecast> reached;  ///< none: it is not being approached, as far as known
    std::optional<SteadyTime> passed_since;
    /// Until the kubelet evicts for it, as far as known: its next look, at most ten seconds later,
    /// left out, and the time that a soft one must be passed for included. 0: it does.
    std::optional<std::chrono::milliseconds> evicts_in;
    bool warned = false;  ///< it was expected, or passed, within the calm time
};

/// A warning began or ended.
struct PressureChange {
    std::size_t threshold = 0;  ///< index in outlooks()
    bool began = false;
};

/// Follows a node's room over time.
///
/// A trend counts once half a minute of close looks has shown it: what swings between two looks
/// far apart looks like anything. The first sign of a fall asks for close looks, a warning does not
/// need it to last.
class NodePressure {
public:
    explicit NodePressure(KubeletEviction kubelet, PressurePolicy policy = {});

    /// The kubelet's configuration changed: what was seen stays, warnings begin anew.
    void use(KubeletEviction kubelet);

    /// What one look found. `stalled`: tasks wait for memory or for input and output by now, a sign
    /// of pressure whatever is left. Times must not go back. Answers what changed.
    std::vector<PressureChange> add(SteadyTime now, const NodeRoom& room, bool stalled = false);

    /// How long to wait until the next look.
    [[nodiscard]] std::chrono::milliseconds next_look() const noexcept;

    /// Memory first, hard ones before soft ones: what the kubelet evicts for first.
    [[nodiscard]] const std::vector<ThresholdOutlook>& outlooks() const noexcept {
        return outlooks_;
    }
    /// Of which a threshold is warned of or passed.
    [[nodiscard]] std::set<PressureSignal> near() const;
    /// What the kubelet evicts for now, of the two limits of memory the hard one; null: nothing.
    [[nodiscard]] const ThresholdOutlook* acting() const noexcept;
    /// What the kubelet gives a pod to stop that it evicts now, or began to evict just before: a
    /// second at a hard threshold, at a soft one evictionMaxPodGracePeriod, or the pod's own time
    /// if that is less (dossier §12.1). None: no threshold is passed.
    [[nodiscard]] std::optional<std::chrono::seconds> kubelet_grace(
        std::chrono::seconds pod_grace) const noexcept;

private:
    void look_for_signs(SteadyTime now, const NodeRoom& room, bool stalled);
    void judge(ThresholdOutlook& outlook, SteadyTime now) const;
    [[nodiscard]] bool is_expected(const ThresholdOutlook& outlook) const noexcept;

    KubeletEviction kubelet_;
    PressurePolicy policy_;
    std::vector<ThresholdOutlook> outlooks_;
    std::vector<SteadyTime> expected_at_;  ///< of each outlook, last
    std::map<PressureSignal, PressureTrend> trends_;
    NodeRoom room_;
    std::optional<SteadyTime> last_;
    SteadyTime close_since_{};
    std::optional<SteadyTime> sign_at_;  ///< last
};

}  // namespace scout::migration
