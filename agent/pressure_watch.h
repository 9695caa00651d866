// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <prometheus/registry.h>

#include "agent/pressure_metrics.h"
#include "agent/pressure_teller.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/health.h"
#include "migration/node_pressure.h"
#include "pressure/kubelet_config.h"
#include "pressure/node_sample.h"
#include "pressure/pod_cgroups.h"

namespace scout::agent {

/// A launcher of this node, as far as an agent knows it.
struct LauncherPod {
    std::string pod_uid;
    std::string guest;                             ///< "NAMESPACE/NAME"; empty: not told yet
    std::optional<std::chrono::seconds> vm_grace;  ///< what its owner lets it take to shut down
};

struct PressureConfig {
    pressure::NodeRoots roots;
    pressure::KubeletConfigPlaces kubelet;
};

/// A launcher in the place in which the kubelet is expected to evict it. What only the API server
/// knows is left out: priorities count as equal, and a burstable pod as one that requests nothing.
/// Usage is that of the pod's cgroup, where the kubelet adds up containers.
struct RankedLauncher {
    LauncherPod pod;
    std::optional<pressure::PodUsage> usage;  ///< none: could not be read, and such pods go first
};

/// Looks at the node's pressure again and again, tells the log and the metrics what is coming, and
/// others of the agent what the kubelet would do.
///
/// A look is a few small files, read on the pool: each second while there is a sign of pressure,
/// else every five (a trend is made of blocks of five seconds, and would begin anew with each look
/// further apart). Launchers are looked at every 30 s, or every 5, the kubelet's configuration each
/// minute. While a look hangs on a dead mount no other one is begun. Loop thread.
class PressureWatch {
public:
    struct Parts {
        asio::any_io_executor loop;
        BlockingPool& pool;
        const Clock& clock;
        prometheus::Registry& registry;
        daemon::Health& health;  ///< gets notes: pressure keeps nobody from being ready
        std::function<std::vector<LauncherPod>()> launchers;  ///< empty: none are known
        std::function<void()> tell = {};                      ///< the teller has something to say
    };

    PressureWatch(PressureConfig config, Parts parts);

    /// Looks until cancelled.
    [[nodiscard]] Task<> run();
    /// One look.
    [[nodiscard]] Task<> look();
    /// How long to wait until the next one.
    [[nodiscard]] std::chrono::milliseconds next_look() const noexcept {
        return pressure_.next_look();
    }

    [[nodiscard]] const migration::NodePressure& pressure() const noexcept { return pressure_; }
    [[nodiscard]] const pressure::KubeletConfig& kubelet() const noexcept { return kubelet_; }
    /// Launchers in the order in which they are evicted for memory, or for process numbers; for
    /// filesystems nothing is known of single ones, and none is named.
    [[nodiscard]] std::vector<RankedLauncher> ranked(migration::PressureSignal signal) const;
    /// All of it, as others are told.
    [[nodiscard]] migration::PressureReport report(SteadyTime now) const;
    /// When the aggregator is told.
    [[nodiscard]] PressureTeller& teller() noexcept { return teller_; }

private:
    using Usages = std::map<std::string, pressure::PodUsage, std::less<>>;  ///< by pod UID

    /// What one look finds, on a thread of the pool.
    struct Reading {
        pressure::NodeSample node;
        std::optional<Usages> pods;  ///< none: not looked at this time
        std::optional<Result<pressure::KubeletFiles>> kubelet;
    };
    /// What a look is to do, and all that it needs for it.
    struct Order {
        PressureConfig config;
        std::string cgroup_root;
        std::vector<LauncherPod> pods;
        bool with_pods = false;
        bool with_kubelet = false;

        [[nodiscard]] Reading carry_out() const;
    };

    [[nodiscard]] Order next_order(SteadyTime now);
    void take(Reading reading, SteadyTime now);
    void take_kubelet(const Result<pressure::KubeletFiles>& files);
    void take_fault(std::string fault);
    void tell(const migration::PressureChange& change) const;
    void tell_shutdown(SteadyTime now);
    void note_warnings();
    void hand_over(SteadyTime now);
    /// Case 20: guests that ask for longer than the kubelet waits at a shutdown.
    struct ShortGuests {
        std::size_t count = 0;
        std::chrono::seconds longest{0};
    };
    [[nodiscard]] ShortGuests short_guests() const;
    [[nodiscard]] std::string first_evicted(migration::PressureSignal signal) const;

    PressureConfig config_;
    Parts parts_;
    PressureMetrics metrics_;
    pressure::KubeletConfig kubelet_;
    std::optional<pressure::KubeletFiles> files_;  ///< that kubelet_ was made of
    std::string kubelet_fault_;
    std::string fault_;  ///< of the last look
    migration::NodePressure pressure_;
    PressureTeller teller_;
    std::vector<LauncherPod> pods_;
    Usages usages_;
    SteadyTime pods_due_ = SteadyTime::min();
    SteadyTime kubelet_due_ = SteadyTime::min();
    std::size_t short_guests_ = 0;  ///< as told last
    SteadyTime shutdown_due_ = SteadyTime::min();
    /// A look is going on, perhaps one that was given up.
    std::shared_ptr<std::atomic<bool>> looking_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace scout::agent
