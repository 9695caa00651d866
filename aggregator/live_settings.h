// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/settings_in_force.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/scout_config.h"

namespace scout::aggregator {

/// What a cluster's objects say that this process works by, kept current; while it leads, it tells
/// so in the status of the ScoutConfig.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it adds
/// handlers to the informers and the elector, which run elsewhere.
class LiveSettings {
public:
    struct Sources {
        kube::Informer<kube::ScoutConfig>& configs;
        kube::Informer<kube::KubeVirt>& kubevirts;
        kube::LeaderElector& elector;
    };

    /// `given`: what the process was started with.
    LiveSettings(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                 const Clock& clock, cluster::LevelSettings given);

    /// Called when others are in force, and once both kinds have been listed. Before run().
    void on_change(std::function<void()> handler) { handlers_.push_back(std::move(handler)); }

    /// What the status tells of the VMs' protection from now on.
    void tell_protection(cluster::Protection protection);

    /// Writes the status until it is cancelled; a write that failed is made again after a while.
    [[nodiscard]] Task<> run();

    /// Both kinds have been listed once.
    [[nodiscard]] bool synced() const noexcept;
    /// One of them may not be read any more.
    [[nodiscard]] bool grows_stale() const noexcept;
    [[nodiscard]] const cluster::SettingsInForce& current() const noexcept { return current_; }

private:
    [[nodiscard]] std::shared_ptr<const kube::ScoutConfig> config() const;
    void take_change();
    void take_list();
    void tell();
    void say();
    [[nodiscard]] Task<Status> write();

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    cluster::LevelSettings given_;
    cluster::SettingsInForce current_;
    cluster::Protection protection_;
    std::optional<cluster::SettingsInForce> said_;  ///< in the log
    std::vector<std::function<void()>> handlers_;
    Alarm alarm_;
};

}  // namespace scout::aggregator
