// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/cause_history.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "cluster/cause_story.h"
#include "cluster/told_events.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

/// Migrations that ended: by migration::Requester, by mode, and whether they failed.
using MoveCounters = std::array<std::array<std::array<std::uint64_t, 2>, 4>, 12>;
/// "none", "PreCopy", "PostCopy", "Paused"
[[nodiscard]] std::string_view mode_word(std::size_t index) noexcept;

/// Who wanted each migration, kept, and, while it leads, written on the VMIM (design §4:
/// virt-scout.io/migration-cause, …/requested-by, …/migration-mode), told on the VMI when it begins
/// and counted when it ends. Written once, and again only if it is not what it should be, as where
/// the launcher that it leaves tells more by its end. Those that had ended before this process
/// began are written if they are younger than what is kept.
///
/// On what is being deleted nothing is written. Of a migration that an agent had asked for it takes
/// a read and a write when it begins, and a write when it ends: of the calls that an evacuation may
/// take there are no more left.
///
/// One migration after the other, by a client that has a rate of its own. At most 4,096 wait. Loop
/// thread. What the constructor takes by reference must outlive it; it adds handlers to informer
/// and elector, which run elsewhere.
class MigrationCauses {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::Migration>& migrations;
        kube::Informer<kube::LauncherPod>& launchers;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
        CauseHistory& history;
        /// Whether an agent named the VMI of that uid: its launcher was told to stop.
        std::function<bool(std::string_view vmi_uid)> told_to_stop;
    };
    MigrationCauses(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                    const Clock& clock);

    /// Works until it is cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const MoveCounters& counters() const noexcept { return counters_; }
    /// Writes that were refused, or failed too often.
    [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }

private:
    using Move = kube::Informer<kube::Migration>::Pointer;
    using Change = kube::Informer<kube::Migration>::Change;

    struct Job {
        std::string space;
        std::string name;
        std::string uid;
        bool ends = false;  ///< its end was seen
        bool told = false;  ///< people know who wanted it: EvacuationBegan says so
        unsigned tries = 0;
    };

    void take_change(const Change& change);
    void take_ending(const kube::Informer<kube::LauncherPod>::Change& change);
    void look_through();
    [[nodiscard]] bool is_young(const kube::Migration& move) const;
    [[nodiscard]] bool lacks_cause(const kube::Migration& move) const;
    void push(const kube::Migration& move, bool ends);
    [[nodiscard]] Task<> work(Job job);
    [[nodiscard]] std::optional<kube::MoveRecord> known_end(const Job& job) const;
    [[nodiscard]] Task<Result<std::optional<kube::MoveRecord>>> read(Job job);
    [[nodiscard]] cluster::Records around(const kube::MoveRecord& move, const kube::Vmi* vmi) const;
    [[nodiscard]] Task<> add_events(cluster::Records* records, const kube::MoveRecord* move,
                                    const kube::VmiRecord* vmi);
    [[nodiscard]] Task<> write(const kube::MoveRecord* move, const cluster::PastMove* past, Job job,
                               std::string vmi_uid);
    void keep(const kube::MoveRecord& move, cluster::PastMove& past);
    void add_launchers(cluster::Records& records, const kube::VmiRecord& vmi) const;
    void add_source(cluster::Records& records, const kube::MoveRecord& move) const;
    void tell(const kube::MoveRecord& move, const cluster::PastMove& past,
              const std::string& vmi_uid);
    void count(const cluster::PastMove& past);
    void again(Job job);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    cluster::ToldEvents told_;
    Alarm alarm_;
    std::deque<Job> jobs_;
    std::unordered_set<std::string> begun_;  ///< uids of those that run and were dealt with
    MoveCounters counters_{};
    std::uint64_t failed_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace scout::aggregator
