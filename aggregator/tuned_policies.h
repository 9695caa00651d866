// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "base/task.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/informer.h"
#include "kube/leader_elector.h"
#include "kube/objects/migration_policy.h"

namespace scout::aggregator {

/// Removes MigrationPolicies whose time is over (cluster/tuned_policy.h), also those that ran out
/// while nobody led. One that was changed after it was judged is judged anew; one whose time cannot
/// be read stays, and is told once. Only while this process leads.
///
/// Loop thread. What is given by reference must outlive it.
class TunedPolicies {
public:
    struct Sources {
        kube::Informer<kube::MigrationPolicy>& policies;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
    };
    TunedPolicies(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                  const Clock& clock);

    /// Until cancelled.
    [[nodiscard]] Task<> run();

private:
    using Policy = kube::Informer<kube::MigrationPolicy>::Pointer;

    /// What is to be done now, and how long there is nothing to do.
    struct Round {
        std::vector<Policy> over;
        std::vector<Policy> unreadable;
        std::chrono::milliseconds rest;
    };
    [[nodiscard]] Round look() const;
    [[nodiscard]] Task<> remove(Policy policy);
    void tell_unreadable(const std::vector<Policy>& policies);
    void tell(const kube::MigrationPolicy& policy, bool warning, std::string reason,
              std::string note);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    Alarm alarm_;
    std::set<std::string> told_;     ///< uids of those whose time cannot be read
    std::set<std::string> removed_;  ///< uids of those that may still be there
};

}  // namespace scout::aggregator
