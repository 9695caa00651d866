// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/cause_history.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "cluster/records.h"
#include "cluster/told_events.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"
#include "migration/cause.h"

namespace scout::aggregator {

/// Launchers that ended, by migration::Cause; the last one: its VM had moved away.
using EndCounters = std::array<std::uint64_t, 14>;
/// "node-pressure", …; of the last one "migration".
[[nodiscard]] std::string_view end_word(std::size_t index) noexcept;

/// Finds out what ended launchers while their objects are still there, keeps it, and, while it
/// leads, counts it and tells it on the VMI: not what its owner or its guest wanted, and no
/// migration. Targets of migrations that failed are none of a VM's launchers. What ended before
/// this process began is kept, if it is young and did not end well, and not told again.
///
/// Memory ∝ launchers that are ending, at most 4,096. Loop thread. What the constructor takes by
/// reference must outlive it; it adds handlers to the informers, which run elsewhere.
class LauncherEnds {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::Migration>& migrations;
        kube::Informer<kube::LauncherPod>& launchers;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
        CauseHistory& history;
    };
    /// `settle`: from a launcher's end until it is judged. What tells of it comes from several who
    /// know nothing of each other: the kubelet, virt-handler, virt-controller.
    LauncherEnds(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                 const Clock& clock, std::chrono::milliseconds settle = std::chrono::seconds{5});

    /// Judges until it is cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const EndCounters& counters() const noexcept { return counters_; }

private:
    using Change = kube::Informer<kube::LauncherPod>::Change;

    struct Ending {
        std::shared_ptr<const kube::LauncherPod> pod;
        std::shared_ptr<const kube::Vmi> vmi;  ///< as it was seen last; null: never
        std::optional<SteadyTime> ended;
        SteadyTime due{};
        bool gone = false;    ///< its object is
        bool silent = false;  ///< it had ended when it was first seen
        bool target = false;  ///< it never was the VM's launcher
    };

    void take_change(const Change& change);
    [[nodiscard]] bool is_news(const Change& change) const;
    void look_at_vmi(Ending& ending) const;
    [[nodiscard]] bool is_mere_target(const Ending& ending) const;
    [[nodiscard]] bool still_moves(const Ending& ending, SteadyTime ended) const;
    [[nodiscard]] std::vector<std::string> due();
    [[nodiscard]] Task<> judge(std::string uid, bool with_events);
    [[nodiscard]] Task<> add_events(cluster::Records* records, const kube::LauncherPod* pod);
    [[nodiscard]] migration::CauseAnswer answer_of(const Ending& ending,
                                                   const cluster::Records& records) const;
    void keep(const Ending& ending, const migration::CauseAnswer& answer);
    void tell(const Ending& ending, const migration::CauseAnswer& answer);

    Sources sources_;
    const Clock& clock_;
    std::chrono::milliseconds settle_;
    cluster::ToldEvents told_;
    Alarm alarm_;
    std::map<std::string, Ending> endings_;  ///< by uid of the pod
    EndCounters counters_{};
    std::uint64_t left_out_ = 0;
    std::uint64_t unread_ = 0;  ///< Events
};

}  // namespace scout::aggregator
