// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/registry.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/cpu_profile.h"
#include "cluster/profile_care.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/node.h"
#include "migration/cpu_map.h"

namespace scout::aggregator {

struct CpuProfilesCounters {
    std::uint64_t made = 0;     ///< objects that were not there
    std::uint64_t removed = 0;  ///< nobody had used them for long
    std::uint64_t failed = 0;   ///< writes that were tried in vain
};

/// Keeps what agents tell of their nodes' CPUs as CPUProfile objects, so that it outlives them.
/// While it leads: makes the object of each profile that an agent reports by KubeVirt's own files,
/// tells who writes nodes which one is to be named, marks and removes what no node names, and tells
/// people when a node's profile changed. Reports of another leadership count for nothing: they may
/// be older than what the node names.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it; it adds
/// handlers to the informers and the elector, which run elsewhere.
class CpuProfiles {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<cluster::CpuProfile>& profiles;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
        const migration::CpuMap* map = nullptr;  ///< may be null
    };

    CpuProfiles(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                const Clock& clock);

    /// Takes reports from now on; this must outlive the registry's last change.
    void follow(Registry& registry);

    /// Called with a node whose reported() may be another one; before run().
    void on_change(std::function<void(const std::string& node)> handler) {
        on_change_ = std::move(handler);
    }

    /// The profile that the node's agent reports now, once the API server has it; empty: none does.
    [[nodiscard]] std::string_view reported(std::string_view node) const;
    /// The object that the node names; null if there is none.
    [[nodiscard]] kube::Informer<cluster::CpuProfile>::Pointer named_by(
        const kube::Node& node) const;

    /// Goes on until it is cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const CpuProfilesCounters& counters() const noexcept { return counters_; }

private:
    struct Reported {
        std::string name;  ///< of the object
        SharedProfile profile;
        bool heard_of = true;  ///< lately; else it counts for nothing
    };

    void take_report(const Node& node);
    void take_change(const Change& change);
    void forget(std::string_view node);
    void tell(const std::string& node);
    void take_leadership();
    void take_node(const kube::Informer<kube::Node>::Change& change);
    [[nodiscard]] const std::string& name_of(const StoredProfile& profile);
    /// Whose profile has no object yet, and was not tried a while ago; empty: nobody's.
    [[nodiscard]] std::string missing() const;
    /// What nodes name, and what agents reported that is not named yet.
    [[nodiscard]] std::set<std::string, std::less<>> names_in_use() const;
    [[nodiscard]] std::vector<cluster::ProfileStep> steps() const;
    [[nodiscard]] Task<> make_missing();
    [[nodiscard]] Task<> care();
    [[nodiscard]] Task<Status> make(SharedProfile profile, std::string name);
    [[nodiscard]] Task<Status> take_step(cluster::ProfileStep step);
    void count(const Status& done, std::uint64_t& successes, const std::string& profile);
    [[nodiscard]] bool may_make_for(const std::string& node) const;
    void count_made_for(const std::string& node);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    Alarm alarm_;
    std::function<void(const std::string&)> on_change_;
    std::map<std::string, Reported, std::less<>> reported_;  ///< by node, in this leadership
    std::unordered_map<std::string, std::string> names_;     ///< of objects, by digest
    std::set<std::string, std::less<>> tried_;               ///< to make, since tried_since_
    SteadyTime tried_since_;
    /// Objects by node, since counted_since_.
    std::map<std::string, unsigned, std::less<>> made_for_;
    SteadyTime counted_since_;
    std::optional<SteadyTime> cared_;
    CpuProfilesCounters counters_;
};

}  // namespace scout::aggregator
