// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

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

/// The ScoutConfig that is in force, or null.
[[nodiscard]] std::shared_ptr<const kube::ScoutConfig> config_in_force(
    const kube::Informer<kube::ScoutConfig>& configs);

/// Tells in the status of the ScoutConfig what is in force, while this process leads.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it adds
/// handlers to the informer and the elector, which run elsewhere.
class ConfigStatus {
public:
    struct Sources {
        kube::Informer<kube::ScoutConfig>& configs;
        kube::Informer<kube::KubeVirt>& kubevirts;
        kube::LeaderElector& elector;
    };

    /// `given`: what the process was started with.
    ConfigStatus(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                 const Clock& clock, cluster::LevelSettings given);

    /// Goes on until it is cancelled; a write that failed is made again after a while.
    [[nodiscard]] Task<> run();

    /// What is in force now.
    [[nodiscard]] cluster::SettingsInForce settings() const;

private:
    void say();
    [[nodiscard]] Task<Status> write();

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    cluster::LevelSettings given_;
    std::optional<cluster::SettingsInForce> said_;  ///< in the log
    Alarm alarm_;
};

}  // namespace scout::aggregator
