// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/cluster_objects.h"
#include "aggregator/registry.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/vm_protection.h"
#include "migration/vm_protection.h"

namespace scout::aggregator {

/// How many of the VMs that run would be moved if their nodes told their launchers to stop, and how
/// many would not for which reason. Counted anew after changes, all at once and in the pool: every
/// ten seconds, and less often where there are so many VMs that it would take more than half a
/// percent of a core. Only the leader counts.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it adds
/// handlers to the informers, which run elsewhere.
class ProtectionCount {
public:
    /// By migration::ProtectionVerdict.
    using Counts = std::array<std::size_t, migration::protection_verdicts>;

    ProtectionCount(const asio::any_io_executor& loop, ClusterObjects& objects,
                    std::function<bool()> leads, BlockingPool& pool, const Clock& clock);

    /// What agents report of their kubelets counts too. Before run(); the registry outlives this.
    void hear(const Registry& registry);

    /// Counts until it is cancelled.
    [[nodiscard]] Task<> run();

    /// As of the last count; none: not counted yet, or another process leads.
    [[nodiscard]] const std::optional<Counts>& counts() const noexcept { return counts_; }

    static constexpr std::chrono::milliseconds count_every{10'000};

private:
    [[nodiscard]] Task<> turn();
    [[nodiscard]] bool may_count() const;

    ClusterObjects& objects_;
    const Registry* registry_ = nullptr;
    std::function<bool()> leads_;
    BlockingPool& pool_;
    const Clock& clock_;
    Alarm alarm_;
    bool changed_ = true;
    std::optional<SteadyTime> not_before_;
    std::optional<Counts> counts_;
};

}  // namespace scout::aggregator
