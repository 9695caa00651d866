// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <prometheus/registry.h>

#include "agent/launcher_ranks.h"
#include "agent/pressure_metrics.h"
#include "agent/pressure_teller.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/health.h"
#include "migration/eviction_order.h"
#include "migration/node_pressure.h"
#include "pressure/kubelet_config.h"
#include "pressure/node_sample.h"
#include "pressure/pod_cgroups.h"
#include "pressure/pod_storage.h"

namespace scout::agent {

struct PressureConfig {
    pressure::NodeRoots roots;
    /// The kubelet's folder of pods; empty: what their volumes take is not measured.
    std::filesystem::path pods = {};
    pressure::KubeletConfigPlaces kubelet;
};

/// Looks at the node's pressure again and again, tells the log and the metrics what is coming, and
/// others of the agent what the kubelet would do.
///
/// A look is a few small files, read on the pool: each second while there is a sign of pressure,
/// else every five (a trend is made of blocks of five seconds, and would begin anew with each look
/// further apart). Launchers are looked at every 30 s, or every 5, the kubelet's configuration each
/// minute. Their volumes are measured every five minutes, or, near a threshold of a filesystem,
/// every 30 s. While a look hangs on a dead mount no other one is begun. Loop thread.
class PressureWatch {
public:
    struct Parts {
        asio::any_io_executor loop;
        BlockingPool& pool;
        const Clock& clock;
        prometheus::Registry& registry;
        daemon::Health& health;  ///< gets notes: pressure keeps nobody from being ready
        std::function<std::vector<LauncherPod>()> launchers;  ///< empty: none are known
        /// logind's word on shutdowns, if it is known; empty: it is asked nothing.
        std::function<std::optional<migration::LoginManager>()> login = {};
        std::function<void()> tell = {};  ///< the teller has something to say
        /// The kubelet's configuration was looked for, for the first time or with another result.
        std::function<void()> kubelet_looked_at = {};
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
    /// Whether it is known by now if the kubelet's configuration can be known.
    [[nodiscard]] bool has_looked_at_kubelet() const noexcept {
        return files_ || !kubelet_fault_.empty();
    }
    /// What the kubelet's configuration says of shutdowns; none: it is not known.
    [[nodiscard]] std::optional<migration::NodeShutdown> shutdown() const {
        return files_ ? std::optional{kubelet_.shutdown} : std::nullopt;
    }
    /// What the leader knows of the launchers here; whole, in the place of what it told before.
    void take(migration::PodStandings standings) { launchers_.standings = std::move(standings); }

    [[nodiscard]] const LauncherRanks& launchers() const noexcept { return launchers_; }
    /// All of it, as others are told.
    [[nodiscard]] migration::PressureReport report(SteadyTime now) const;
    /// When the aggregator is told.
    [[nodiscard]] PressureTeller& teller() noexcept { return teller_; }

private:
    /// What one look finds, on a thread of the pool.
    struct Reading {
        pressure::NodeSample node;
        /// None: not looked at this time.
        std::optional<LauncherRanks::ByPod<pressure::PodUsage>> usages;
        std::optional<Result<pressure::KubeletFiles>> kubelet;
    };
    /// What a look is to do, and all that it needs for it.
    struct Order {
        PressureConfig config;
        std::string cgroup_root;
        std::vector<LauncherPod> pods;
        bool with_pods = false;
        bool with_storage = false;
        bool with_kubelet = false;
        bool with_pods_memory = false;

        [[nodiscard]] Reading carry_out() const;
        void read_usages(Reading& reading) const;
    };
    using Storages = LauncherRanks::ByPod<pressure::PodStorage>;
    /// A walk through what launchers have on disk: on a slow one it takes longer than a look waits,
    /// and what it found is taken by a later one.
    struct StorageWalk {
        std::atomic<bool> under_way{false};
        std::atomic<bool> done{false};
        Storages found;  ///< the walk's own until it is done
    };

    [[nodiscard]] Order next_order(SteadyTime now);
    void make_due_again(const Order& order, SteadyTime now);
    [[nodiscard]] bool is_filesystem_near() const;
    [[nodiscard]] bool limits_pods() const;
    [[nodiscard]] Task<> measure(Order order);
    void take_storages();
    void take(Reading reading, SteadyTime now);
    void take_kubelet(const Result<pressure::KubeletFiles>& files);
    void take_fault(std::string fault);
    [[nodiscard]] std::string trouble() const;
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
    [[nodiscard]] std::optional<std::chrono::seconds> given_at_shutdown() const;
    [[nodiscard]] migration::KubeletGraces graces() const;
    [[nodiscard]] std::string first_evicted(migration::PressureSignal signal) const;

    PressureConfig config_;
    Parts parts_;
    PressureMetrics metrics_;
    pressure::KubeletConfig kubelet_;
    /// That kubelet_ was made of; none: it is not known, and that one has its defaults.
    std::optional<pressure::KubeletFiles> files_;
    std::string kubelet_fault_;
    std::string fault_;  ///< of the last look
    migration::NodePressure pressure_;
    PressureTeller teller_;
    LauncherRanks launchers_;
    SteadyTime pods_due_ = SteadyTime::min();
    SteadyTime storage_due_ = SteadyTime::min();
    SteadyTime kubelet_due_ = SteadyTime::min();
    std::size_t short_guests_ = 0;  ///< as told last
    SteadyTime shutdown_due_ = SteadyTime::min();
    /// A look is going on, perhaps one that was given up.
    std::shared_ptr<std::atomic<bool>> looking_ = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<StorageWalk> walk_ = std::make_shared<StorageWalk>();
};

}  // namespace scout::agent
