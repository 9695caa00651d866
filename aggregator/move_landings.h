// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "cluster/target_term.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

struct LandingCounters {
    std::uint64_t as_asked = 0;
    std::uint64_t elsewhere = 0;
    std::uint64_t unclear = 0;  ///< the migration or the node could not be read any more
};

/// Whether VMs whose migrations asked for certain nodes have come to such a one: what a VM asks for
/// itself wins over plain labels of its migration (dossier §6.1), and a node's labels may change on
/// the way. Another node is an Event on the VMI. Only while this process leads; each migration is
/// read once, a few seconds after its end.
///
/// Memory ∝ migrations that ended just now, at most 1,000. Loop thread. What the constructor takes
/// by reference must outlive it.
class MoveLandings {
public:
    struct Sources {
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::Migration>& migrations;
        const kube::LeaderElector& elector;
        kube::EventRecorder& events;
    };
    /// `settle`: watches are no further behind; between tries too.
    MoveLandings(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                 const Clock& clock, std::chrono::milliseconds settle = std::chrono::seconds{5});

    /// Until cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const LandingCounters& counters() const noexcept { return counters_; }

private:
    struct Landing {
        std::shared_ptr<const kube::Vmi> vmi;
        std::string move;  ///< its name
        SteadyTime due;
        unsigned tries = 0;
    };
    void take(const kube::Informer<kube::Vmi>::Change& change);
    void push(Landing landing);
    [[nodiscard]] Task<> judge(Landing landing);
    /// `object`: the migration, as the API server has it.
    void compare(const kube::Vmi& vmi, std::string_view object);
    void tell(const kube::Vmi& vmi, const cluster::CarriedMove& move, const std::string& lacking);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    std::chrono::milliseconds settle_;
    Alarm alarm_;
    std::deque<Landing> waiting_;  ///< in the order of their times
    LandingCounters counters_;
};

}  // namespace scout::aggregator
