// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/cpu_profiles.h"
#include "aggregator/live_settings.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/label_plan.h"
#include "cluster/level_keeper.h"
#include "cluster/settings_in_force.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/node.h"

namespace scout::aggregator {

struct LevelLabelsConfig {
    cluster::LevelOptions levels;  ///< with the settings that are in force
    cluster::LabelPlanRules plan;
    std::uint64_t seed = 0;  ///< of the jitter; one that differs in each process
};

struct LevelLabelsCounters {
    std::uint64_t written = 0;  ///< that the API server accepted
    std::uint64_t failed = 0;
};

/// Keeps the level label of every node of a cluster as it should be, and the annotations that name
/// its CPU profiles: follows the nodes, their profiles, the KubeVirt object and the settings and,
/// while it leads, writes what differs, all of a node in one patch. A standby follows as well, so
/// that it can lead at once. Levels go by the profile that a node names, never by one that is only
/// reported: so they are the same after a restart without agents.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it sets the
/// handlers of informers, profiles, settings and elector, which run elsewhere.
class LevelLabels {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::KubeVirt>& kubevirts;
        kube::Informer<cluster::CpuProfile>& objects;
        CpuProfiles& profiles;  ///< which of them a node names, and should
        LiveSettings& settings;
        kube::LeaderElector& elector;
    };

    LevelLabels(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                const Clock& clock, LevelLabelsConfig config);

    /// Goes on until it is cancelled; writes that are under way then are cancelled too.
    [[nodiscard]] Task<> run();

    /// All that levels rest on is known, and the nodes have been judged by it.
    [[nodiscard]] bool synced() const noexcept { return judged_ && is_known(); }
    [[nodiscard]] const LevelLabelsCounters& counters() const noexcept { return counters_; }
    /// Means something once synced().
    [[nodiscard]] const cluster::LevelKeeper& keeper() const noexcept { return keeper_; }
    /// Nodes whose label, or annotation, differs from what it should be.
    [[nodiscard]] std::size_t out_of_step() const noexcept { return differing_.size(); }

private:
    [[nodiscard]] bool is_known() const noexcept;
    void take_node(const kube::Informer<kube::Node>::Change& change);
    void take_profile(const kube::Informer<cluster::CpuProfile>::Change& change);
    void put(const kube::Node& node);
    void put_again();
    void take_settings();
    void judge_anew();
    void take_leadership(bool leads);
    void follow();
    void begin_plan();
    void look_at(const std::string& node);
    void start_writes();
    [[nodiscard]] bool rests_on_stale() const noexcept;
    [[nodiscard]] Task<> write(cluster::LabelPlan::Write write, std::uint64_t term);
    [[nodiscard]] Task<Status> send(cluster::LabelPlan::Write write);
    void say_failure(const std::string& node, const Error& error);
    [[nodiscard]] std::chrono::milliseconds longest_sleep() const;

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    LevelLabelsConfig config_;
    TaskScope writes_;
    Alarm alarm_;
    cluster::LevelSettings settings_;  ///< in force
    cluster::LevelKeeper keeper_;
    bool refused_ = false;  ///< the right to read profiles was missing before they were read
    bool judged_ = false;   ///< once, by what is known
    std::set<std::string> touched_;  ///< nodes to look at: not only their level may differ
    std::set<std::string, std::less<>> changed_profiles_;  ///< names of objects that came or went
    std::set<std::string> differing_;
    std::optional<cluster::LabelPlan> plan_;  ///< while it leads
    std::uint64_t term_ = 0;                  ///< of leading, so that no write tells a later plan
    LevelLabelsCounters counters_;
    std::optional<SteadyTime> said_at_;
};

}  // namespace scout::aggregator
