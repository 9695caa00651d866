// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/evacuation_desk.h"
#include "aggregator/live_settings.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/places.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/evacuation_acts.h"
#include "cluster/hook_plugin.h"
#include "cluster/settings_in_force.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/node.h"
#include "kube/objects/plugin.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

struct HookCounters {
    bool in_place = false;
    std::size_t left_out = 0;    ///< nodes
    std::uint64_t written = 0;   ///< applied or removed
    std::uint64_t failed = 0;    ///< tried in vain
    std::uint64_t released = 0;  ///< VMs that were touched for their agent was gone
};

/// Keeps the Plugin object by which virt-handler asks agents before it stops a VM: in mode act,
/// while KubeVirt has such objects and an agent lives. Nodes whose agents are silent are left out,
/// and what is held there is let go; where too many are, the object is taken away. Tells the
/// settings what protects at the moment.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it adds
/// handlers to the informers, the settings and the elector, which run elsewhere, and to the desk.
class HookKeeper {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        /// Of the one object that is ours.
        kube::Informer<kube::Plugin>& plugins;
        LiveSettings& settings;
        EvacuationDesk& desk;
        kube::LeaderElector& elector;
    };

    HookKeeper(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
               const Clock& clock);

    /// Goes on until it is cancelled.
    [[nodiscard]] Task<> run();
    /// Ends what is under way.
    [[nodiscard]] Task<> stop();

    [[nodiscard]] HookCounters counters() const;

private:
    /// Whether the object should be there, and why not.
    struct Wish {
        bool there = false;
        cluster::Protection protection;
    };

    [[nodiscard]] kube::Informer<kube::Plugin>::Pointer plugin() const;
    /// Why the object should not be there; none: nothing speaks against it.
    [[nodiscard]] std::optional<cluster::Protection> obstacle() const;
    [[nodiscard]] Wish wish() const;
    [[nodiscard]] Task<> turn();
    [[nodiscard]] Task<Result<cluster::HookOwner>> find_owner();
    [[nodiscard]] Task<Status> apply(cluster::HookOwner owner, std::string condition);
    [[nodiscard]] Task<Status> remove(std::string uid);
    [[nodiscard]] Task<> keep(bool there);
    void let_go();
    [[nodiscard]] Task<> touch(cluster::EvacuationSubject subject);
    [[nodiscard]] std::vector<cluster::EvacuationSubject> held_in_vain() const;
    void look_at_nodes();
    void count(const Status& done);
    void tell(const Wish& wish);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    cluster::EvacuationActs acts_;
    Alarm alarm_;
    cluster::HookCover cover_;
    bool led_ = false;
    std::optional<cluster::HookOwner> owner_;
    std::optional<SteadyTime> not_before_;       ///< of the next write
    SteadyTime written_at_{};                    ///< virt-handler knows it a moment later
    std::string trouble_;                        ///< why the last write failed
    std::set<std::string, std::less<>> let_go_;  ///< uids of VMIs
    TaskScope scope_;                            ///< of touches
    std::shared_ptr<Places> places_;             ///< likewise
    HookCounters counters_;
};

}  // namespace scout::aggregator
