// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "aggregator/fleet_matrix.h"
#include "aggregator/registry.h"
#include "base/clock.h"
#include "base/result.h"
#include "migration/comparison.h"
#include "migration/guest.h"
#include "migration/stock_gate.h"

namespace virt_scout::v1 {
class Subject;
}

/// The parts of `where`: whose CPU is asked about, and what each node answers. Loop thread.
namespace scout::aggregator {

/// What the question speaks of, looked up.
struct PlacementSubject {
    std::string name;
    std::string source;  ///< its node; empty: a described guest
    migration::GuestCpu guest;
    migration::StockGuest stock;
    std::string unknown;  ///< why the guest's CPU is not known; then guest and stock say nothing
};

/// Errc::not_found for an unknown guest or node; Errc::invalid for an empty subject or a name that
/// several guests have; Errc::unavailable if the source has no profile.
[[nodiscard]] Result<PlacementSubject> find_subject(const virt_scout::v1::Subject& subject,
                                                    const Registry& registry, FleetMatrix& matrix);

/// Compares one guest with node after node; nodes with equal facts are compared once. Registry and
/// matrix outlive it, and may change between two questions.
class PlacementSearch {
public:
    PlacementSearch(PlacementSubject subject, const Registry& registry, FleetMatrix& matrix,
                    SteadyTime now)
        : subject_(std::move(subject)),
          guest_(migration::prepare(subject_.guest, subject_.stock, matrix.map())),
          registry_(registry),
          matrix_(matrix),
          now_(now) {}
    ~PlacementSearch() = default;
    PlacementSearch(const PlacementSearch&) = delete;
    PlacementSearch& operator=(const PlacementSearch&) = delete;
    PlacementSearch(PlacementSearch&&) = delete;
    PlacementSearch& operator=(PlacementSearch&&) = delete;

    [[nodiscard]] const PlacementSubject& subject() const noexcept { return subject_; }

    [[nodiscard]] migration::Comparison ask(const Node& target);

private:
    [[nodiscard]] migration::Comparison compare_with(const Node& target) const;

    PlacementSubject subject_;
    migration::PreparedGuest guest_;  ///< refers to subject_
    const Registry& registry_;
    FleetMatrix& matrix_;
    SteadyTime now_;
    std::map<std::string, migration::Comparison, std::less<>> by_facts_;
};

}  // namespace scout::aggregator
