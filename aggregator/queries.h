// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aggregator/fleet_matrix.h"
#include "aggregator/registry.h"
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
class UpgradeImpactRequest;
class UpgradeImpactResponse;
class WhereRequest;
class WhereResponse;
}  // namespace virt_scout::v1

namespace scout::aggregator {

namespace v1 = virt_scout::v1;

/// Questions about the fleet, as messages in and out; knows no transport, so that several can
/// share it. Loop thread; answers are computed at once. Errors: not_found for names that nobody
/// has, invalid for questions that cannot be asked, unavailable where facts are missing that may
/// still come.
class FleetQueries {
public:
    FleetQueries(const Registry& registry, FleetMatrix& matrix)
        : registry_(registry), matrix_(matrix) {}

    [[nodiscard]] v1::NodesResponse nodes(SteadyTime now) const;
    [[nodiscard]] Result<v1::NodeResponse> node(const v1::NodeRequest& request,
                                                SteadyTime now) const;
    [[nodiscard]] Result<v1::GuestsResponse> guests(const v1::GuestsRequest& request,
                                                    SteadyTime now) const;
    /// Gone nodes answer unknown, stale ones with their age beside the verdict.
    [[nodiscard]] Result<v1::WhereResponse> where(const v1::WhereRequest& request,
                                                  SteadyTime now) const;
    /// Rows of gone nodes and of nodes without a profile have '?' in every cell. Beyond 10,000
    /// nodes the cells are left out: they would be over 100 MB.
    [[nodiscard]] v1::MatrixResponse matrix() const;
    /// Without names: all nodes that are not gone.
    [[nodiscard]] Result<v1::BaselineResponse> baseline(const v1::BaselineRequest& request,
                                                        SteadyTime now) const;
    [[nodiscard]] Result<v1::UpgradeImpactResponse> upgrade_impact(
        const v1::UpgradeImpactRequest& request) const;

private:
    [[nodiscard]] Result<const Node*> find(std::string_view name) const;

    const Registry& registry_;
    FleetMatrix& matrix_;
};

}  // namespace scout::aggregator
