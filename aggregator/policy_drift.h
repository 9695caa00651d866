// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/labelled.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/vmi.h"

namespace scout::aggregator {

struct PolicyDriftCounters {
    std::uint64_t same = 0;
    std::uint64_t differs = 0;
    std::uint64_t unclear = 0;  ///< policies changed just then: either could be right
};

/// Whether KubeVirt chooses MigrationPolicies by the rule that virt-scout knows (dossier §7): what
/// it recorded when it handed a migration off is compared with what the rule gives for the VMI as
/// it was then. A difference is an Event on the VMI and a number: forecasts of moves rest on the
/// rule, and another version of KubeVirt may have another one. Only while this process leads, and a
/// few seconds later: watches of different kinds are not at the same moment.
///
/// Loop thread. What the sources refer to must outlive it.
class PolicyDrift {
public:
    struct Sources {
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::MigrationPolicy>& policies;
        kube::Informer<kube::LabelledObject>& namespaces;
        const kube::LeaderElector& elector;
        kube::EventRecorder& events;
    };
    /// `settle`: watches are no further behind.
    PolicyDrift(const asio::any_io_executor& loop, Sources sources, const Clock& clock,
                std::chrono::milliseconds settle = std::chrono::seconds{5});

    /// Until cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const PolicyDriftCounters& counters() const noexcept { return counters_; }

private:
    using Pointer = std::shared_ptr<const kube::Vmi>;
    struct HandOff {
        Pointer before;  ///< the VMI as it was just before
        Pointer now;
        SteadyTime at;
    };
    void take(const kube::Informer<kube::Vmi>::Change& change);
    void compare(const HandOff& move);
    /// Empty: none applies.
    [[nodiscard]] std::string expected(const kube::Vmi& vmi) const;
    void tell(const kube::Vmi& vmi, const std::string& expected);

    Sources sources_;
    const Clock& clock_;
    std::chrono::milliseconds settle_;
    Alarm alarm_;
    std::deque<HandOff> waiting_;  ///< in the order of their times
    std::optional<SteadyTime> policies_changed_;
    PolicyDriftCounters counters_;
};

}  // namespace scout::aggregator
