// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "aggregator/fleet_matrix.h"
#include "aggregator/queries.h"
#include "aggregator/registry.h"
#include "base/clock.h"
#include "migration/cpu_map.h"

namespace scout::aggregator {

/// All that is known of the fleet, wired together. Loop thread.
class Fleet {
public:
    /// The clock outlives this.
    Fleet(RegistryOptions options, std::string machine_type, std::optional<migration::CpuMap> map,
          const Clock& clock)
        : clock_(clock),
          map_(std::move(map)),
          registry_(options, clock),
          matrix_(registry_, std::move(machine_type), map_ ? &*map_ : nullptr),
          queries_(registry_, matrix_) {}
    ~Fleet() = default;
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;
    Fleet(Fleet&&) = delete;
    Fleet& operator=(Fleet&&) = delete;

    [[nodiscard]] SteadyTime now() const { return clock_.steady(); }
    [[nodiscard]] WallTime wall() const { return clock_.wall(); }
    [[nodiscard]] Registry& registry() noexcept { return registry_; }
    [[nodiscard]] const Registry& registry() const noexcept { return registry_; }
    [[nodiscard]] const FleetMatrix& matrix() const noexcept { return matrix_; }
    [[nodiscard]] const FleetQueries& queries() const noexcept { return queries_; }

private:
    const Clock& clock_;
    std::optional<migration::CpuMap> map_;
    Registry registry_;
    FleetMatrix matrix_;
    FleetQueries queries_;
};

}  // namespace scout::aggregator
