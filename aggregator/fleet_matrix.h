// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aggregator/registry.h"
#include "migration/labels.h"
#include "migration/matrix.h"

namespace scout::aggregator {

/// The labels that the labeller would write for each profile, made once and kept for the profiles
/// that are asked for most. Without facts of the host: the TSC is added by of(). One thread.
class LabelCache {
public:
    explicit LabelCache(const migration::CpuMap* map) : map_(map) {}

    /// Labels that come from the profile alone. Good until the next call.
    [[nodiscard]] const migration::Labels& of(const StoredProfile& profile);
    /// With the facts of one host.
    [[nodiscard]] migration::Labels of(const StoredProfile& profile,
                                       const migration::HostFacts& facts) const;

private:
    /// A set of labels has some 20 KiB.
    static constexpr std::size_t limit = 256;
    const migration::CpuMap* map_;
    std::map<std::string, migration::Labels, std::less<>> by_digest_;
};

/// Keeps a migration::Matrix in step with a registry: nodes with a profile that are not gone.
/// Lives as long as the registry changes; one thread.
class FleetMatrix {
public:
    /// `map` may be null and outlives this. Subscribes to the registry, which must be empty.
    FleetMatrix(Registry& registry, std::string machine_type, const migration::CpuMap* map);
    ~FleetMatrix() = default;
    FleetMatrix(const FleetMatrix&) = delete;
    FleetMatrix& operator=(const FleetMatrix&) = delete;
    FleetMatrix(FleetMatrix&&) = delete;
    FleetMatrix& operator=(FleetMatrix&&) = delete;

    /// Where the node is in the matrix; nothing if it is not there.
    [[nodiscard]] std::optional<migration::Matrix::NodeId> place_of(const Node& node) const;
    [[nodiscard]] const migration::Matrix& matrix() const noexcept { return matrix_; }

    struct Level {
        std::uint32_t destinations = 0;
        unsigned level = 0;  ///< 0..100
    };
    /// Of the truth layer; zeros for a node that is not in the matrix.
    [[nodiscard]] Level level_of(const Node& node) const;

    [[nodiscard]] LabelCache& labels() noexcept { return labels_; }
    [[nodiscard]] const std::string& machine_type() const noexcept { return machine_type_; }
    [[nodiscard]] const migration::CpuMap* map() const noexcept { return map_; }

private:
    struct Place {
        migration::Matrix::NodeId id;
        SharedProfile profile;  ///< keeps what the matrix was told of alive
        std::string arch;       ///< empty: not counted
    };

    void follow(const Change& change);
    void enter(const Node& node);
    void leave(const std::string& name);

    std::string machine_type_;
    const migration::CpuMap* map_;
    LabelCache labels_;
    migration::Matrix matrix_;
    std::unordered_map<std::string, Place> places_;
    /// Nodes that count for the level (design §5): schedulable, with a host model; by architecture.
    std::map<std::string, std::uint32_t, std::less<>> counted_;
};

}  // namespace scout::aggregator
