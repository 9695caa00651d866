// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aggregator/fleet_matrix.h"
#include "aggregator/registry.h"
#include "aggregator/sweep.h"
#include "base/clock.h"
#include "base/result.h"

namespace virt_scout::v1 {
class BaselineRequest;
class BaselineResponse;
class GuestsRequest;
class GuestsResponse;
class MatrixResponse;
class NodeRequest;
class NodeResponse;
class NodesResponse;
class PressureRequest;
class PressureResponse;
class UpgradeImpactRequest;
class UpgradeImpactResponse;
class WhereRequest;
class WhereResponse;
}  // namespace virt_scout::v1

namespace scout::aggregator {

namespace v1 = virt_scout::v1;

/// Questions about the fleet, as messages in and out; knows no transport, so that several can
/// share it. Loop thread; what grows with the fleet is answered in turns. Errors: not_found for
/// names that nobody has, invalid for questions that cannot be asked, unavailable where facts are
/// missing that may still come.
class FleetQueries {
public:
    FleetQueries(const Registry& registry, FleetMatrix& matrix)
        : registry_(registry), matrix_(matrix) {}

    [[nodiscard]] Sweep<v1::NodesResponse> nodes(SteadyTime now) const;
    [[nodiscard]] Result<v1::NodeResponse> node(const v1::NodeRequest& request,
                                                SteadyTime now) const;
    [[nodiscard]] Result<Sweep<v1::GuestsResponse>> guests(const v1::GuestsRequest& request,
                                                           SteadyTime now) const;
    /// Gone nodes answer unknown, stale ones with their age beside the verdict.
    [[nodiscard]] Result<Sweep<v1::WhereResponse>> where(const v1::WhereRequest& request,
                                                         SteadyTime now) const;
    /// Cells are told class by class. Gone nodes and nodes without a profile have no class.
    /// Errc::unavailable if there are more classes than one answer can hold.
    [[nodiscard]] Result<v1::MatrixResponse> matrix() const;
    /// Without names: all nodes that are not gone.
    [[nodiscard]] Result<v1::BaselineResponse> baseline(const v1::BaselineRequest& request,
                                                        SteadyTime now) const;
    [[nodiscard]] Result<v1::UpgradeImpactResponse> upgrade_impact(
        const v1::UpgradeImpactRequest& request) const;
    /// What agents told of their nodes' pressure. Without names: all that have agents.
    [[nodiscard]] Result<Sweep<v1::PressureResponse>> pressure(const v1::PressureRequest& request,
                                                               SteadyTime now) const;

private:
    [[nodiscard]] Result<const Node*> find(std::string_view name) const;

    const Registry& registry_;
    FleetMatrix& matrix_;
};

}  // namespace scout::aggregator
