// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/dump.h"
#include "cluster/levels.h"
#include "fleet/answers.h"
#include "fleet/fleet.h"
#include "migration/cpu_map.h"

namespace scout::fleet {

/// How many VMIs are on each node; those at their end are not there.
class GuestCounts {
public:
    void add(const kube::Vmi& vmi);
    [[nodiscard]] std::uint32_t on(std::string_view node) const;

private:
    std::map<std::string, std::uint32_t, std::less<>> by_node_;
};

/// What the user says of it; the rest is as the ScoutConfig among the objects has it, and so as the
/// cluster's own aggregator labels its nodes.
struct DumpWishes {
    std::string machine_type;
    std::optional<migration::Layer> layer;
    const migration::CpuMap* map = nullptr;  ///< as of DumpOptions
};

/// How the nodes of a dump are judged.
struct DumpOptions {
    std::string machine_type;                ///< empty: the cluster's default
    const migration::CpuMap* map = nullptr;  ///< may be null; must outlive the answers' maker
    migration::Layer layer = migration::Layer::stock;  ///< that levels and destinations are of
    cluster::CountingRules counting;
    std::size_t most_refusals = cluster::LevelOptions{}.most_refusals;  ///< that a matrix lists

    /// What agents told; none: they are not asked.
    std::optional<ToldPressures> pressures = std::nullopt;

    [[nodiscard]] cluster::LevelOptions levels() const {
        return {.layer = layer,
                .machine_type = machine_type,
                .map = map,
                .counting = counting,
                .most_refusals = most_refusals};
    }
};

/// The answers of a cluster's objects, in files or just read, in the aggregator's place, at the
/// moment that the objects are of. Nodes are known by the CPUProfiles that they name, else by their
/// labels. What needs agents is Errc::invalid with what to do instead. One thread.
class DumpFleet final : public Fleet {
public:
    DumpFleet(cluster::Dump dump, DumpOptions options);

    [[nodiscard]] Result<NodesAnswer> nodes() override;
    [[nodiscard]] Result<NodeDetail> node(const std::string& name) override;
    [[nodiscard]] Result<GuestsAnswer> guests(const std::string& node) override;
    [[nodiscard]] Status watch_guests(const std::string& node, const GuestSink& sink) override;
    [[nodiscard]] Result<migration::Placement> where(const FleetSubject& subject,
                                                     const std::string& target) override;
    [[nodiscard]] Result<AnyMatrix> matrix() override;
    [[nodiscard]] Result<migration::Baseline> baseline(
        const std::vector<std::string>& nodes) override;
    [[nodiscard]] Result<migration::UpgradeImpact> upgrade_impact(const std::string& node) override;
    /// Of objects with what protects VMs among them.
    [[nodiscard]] Result<ProtectionListing> protection(const ProtectionQuestion& question) override;
    [[nodiscard]] Result<PressureListing> pressure(const std::vector<std::string>& nodes) override;

    /// The labels of each node against the rules.
    [[nodiscard]] LabelCheckAnswer check_labels() const;

private:
    using Nodes = std::vector<const kube::Node*>;

    /// Of each node, in the order of the objects.
    [[nodiscard]] std::vector<cluster::NodeLevel> levels() const;
    /// All but the number of guests.
    [[nodiscard]] NodeLine line_of(const kube::Node& node, const cluster::NodeLevel& level) const;
    [[nodiscard]] std::vector<GuestLine> guests_on(const std::string& node) const;

    [[nodiscard]] Result<migration::Placement> placement_of(const FleetSubject& subject) const;
    /// Nodes of which a baseline is wanted if none are named: those that take VMs, of the
    /// architecture that most of them have. Of the others of KubeVirt it is told why not.
    [[nodiscard]] Nodes taking_vms(std::string& left_out) const;
    [[nodiscard]] Result<Nodes> named(const std::vector<std::string>& names) const;

    cluster::Dump dump_;
    DumpOptions options_;
};

/// A line for each object or file that could not be used.
void tell_left_out(const std::vector<cluster::LeftOut>& left_out,
                   const std::function<void(std::string_view)>& tell);

/// Tells what could not be used by `tell`, a line each. Errors: invalid if no Node object is among
/// the objects.
[[nodiscard]] Result<std::unique_ptr<DumpFleet>> open_dump(
    cluster::Dump dump, const DumpWishes& wishes,
    const std::function<void(std::string_view)>& tell);

}  // namespace scout::fleet
