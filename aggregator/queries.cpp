// SPDX-License-Identifier: Apache-2.0
#include "aggregator/queries.h"

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregator/messages.h"
#include "aggregator/placement.h"
#include "base/duration.h"
#include "base/logging.h"
#include "migration/baseline.h"
#include "migration/class_rows.h"
#include "migration/cpu_truth.h"
#include "migration/upgrade_impact.h"
#include "wire/convert.h"
#include "wire/fleet_messages.h"

namespace scout::aggregator {
namespace {

/// Classes of a matrix that is told: 64 MiB of cells. Fleets have some tens.
constexpr std::size_t classes_limit = 8192;

std::string map_name(const migration::CpuMap* map) {
    return map == nullptr ? std::string{} : map->name();
}

std::string guests_unknown(const Node& node, std::size_t guests_limit, SteadyTime now) {
    if (!node.host.guests_error.empty()) {
        return node.name + ": " + node.host.guests_error;
    }
    if (node.freshness != Freshness::fresh) {
        return node.name + ": last heard of " + age_text(age(node, now)) +
               " ago; the guests are those known then";
    }
    if (node.guests.size() >= guests_limit) {
        return node.name + ": at most " + std::to_string(guests_limit) +
               " guests of one node are kept; the rest of them is left out";
    }
    return {};
}

/// Writes the guests of one node after the other; equal CPUs once for all of them.
class GuestList {
public:
    GuestList(std::size_t guests_limit, SteadyTime now) : guests_limit_(guests_limit), now_(now) {}

    void add(const Node& node, v1::GuestsResponse& out) {
        for (const auto& [uuid, guest] : node.guests) {
            auto* entry = out.add_guests();
            entry->set_node(node.name);
            *entry->mutable_guest() = to_wire_without_cpu(guest);
            if (guest.cpu != nullptr) {
                entry->set_cpu(number_of(guest.cpu, out));
            }
        }
        if (auto error = guests_unknown(node, guests_limit_, now_); !error.empty()) {
            out.add_errors(std::move(error));
        }
    }

private:
    std::uint32_t number_of(const SharedCpu& cpu, v1::GuestsResponse& out) {
        const auto [entry, fresh] =
            numbers_.emplace(cpu, static_cast<std::uint32_t>(numbers_.size()));
        if (fresh) {
            *out.add_cpus() = wire::to_wire(*cpu);
        }
        return entry->second;
    }

    std::size_t guests_limit_;
    SteadyTime now_;
    std::unordered_map<SharedCpu, std::uint32_t> numbers_;  ///< keeps them alive between turns
};

using NodesByProfile = std::unordered_map<const StoredProfile*, std::vector<const Node*>>;

/// Nodes with equal profiles are one host of the search: a fleet has few profiles.
migration::Baseline baseline_of(const NodesByProfile& nodes, const migration::CpuMap* map) {
    std::map<std::string, const StoredProfile*> by_name;
    for (const auto& [profile, equal] : nodes) {
        by_name.emplace(equal.front()->name, profile);
    }
    std::vector<migration::NamedProfile> hosts;
    hosts.reserve(by_name.size());
    for (const auto& [name, profile] : by_name) {
        hosts.push_back({.name = name, .profile = profile->profile});
    }
    auto baseline = migration::find_baseline(hosts, map);
    for (const auto& [profile, equal] : nodes) {
        const auto found = baseline.losses.find(equal.front()->name);
        for (const auto* node : equal) {
            if (found != baseline.losses.end()) {
                baseline.losses.emplace(node->name, found->second);
            }
        }
    }
    return baseline;
}

}  // namespace

Sweep<v1::NodesResponse> FleetQueries::nodes(SteadyTime now) const {
    v1::NodesResponse begun;
    begun.set_map(map_name(matrix_.map()));
    auto take = [this, now](const Node& node, v1::NodesResponse& out) {
        *out.add_nodes() = summary_of(node, matrix_, now);
    };
    return {registry_, std::move(take), std::move(begun)};
}

Result<v1::NodeResponse> FleetQueries::node(const v1::NodeRequest& request, SteadyTime now) const {
    const auto found = find(request.name());
    if (!found) {
        return fail(found.error());
    }
    const auto& node = **found;
    v1::NodeResponse out;
    *out.mutable_summary() = summary_of(node, matrix_, now);
    *out.mutable_facts() = wire::to_wire(node.host.facts);
    out.set_yardstick(node.host.yardstick);
    if (node.profile != nullptr) {
        const auto& profile = node.profile->profile;
        *out.mutable_profile() = wire::to_wire(profile);
        for (const auto& [key, value] : matrix_.labels().of(*node.profile, node.host.facts)) {
            (*out.mutable_labels())[key] = value;
        }
        for (const auto& feature : migration::supported_features(profile, matrix_.map()).features) {
            out.add_supported(feature);
        }
    }
    for (const auto& [uuid, guest] : node.guests) {
        *out.add_guests() = to_wire(guest);
    }
    return out;
}

Result<Sweep<v1::GuestsResponse>> FleetQueries::guests(const v1::GuestsRequest& request,
                                                       SteadyTime now) const {
    if (!request.node().empty()) {
        if (const auto found = find(request.node()); !found) {
            return fail(found.error());
        }
    }
    auto take = [list = GuestList{registry_.options().guests_limit, now}](
                    const Node& node, v1::GuestsResponse& out) mutable { list.add(node, out); };
    return Sweep<v1::GuestsResponse>{registry_, std::move(take), {}, request.node()};
}

Result<Sweep<v1::WhereResponse>> FleetQueries::where(const v1::WhereRequest& request,
                                                     SteadyTime now) const {
    auto subject = find_subject(request.subject(), registry_, matrix_);
    if (!subject) {
        return fail(subject.error());
    }
    v1::WhereResponse begun;
    begun.set_subject(subject->name);
    begun.set_source(subject->source);
    if (const auto note = migration::not_judged(subject->guest);
        subject->unknown.empty() && !note.empty()) {
        begun.add_notes(note);
    }
    if (!request.target().empty()) {
        if (const auto target = find(request.target()); !target) {
            return fail(target.error());
        }
        if (request.target() == subject->source) {
            return fail(Errc::invalid, log_value(subject->name) + " is on node " +
                                           log_value(subject->source) +
                                           " already: name another target");
        }
    }
    auto search = std::make_shared<PlacementSearch>(std::move(*subject), registry_, matrix_, now);
    auto take = [search](const Node& node, v1::WhereResponse& out) {
        if (node.name != search->subject().source) {
            auto* answer = out.add_nodes();
            answer->set_node(node.name);
            *answer->mutable_comparison() = wire::to_wire(search->ask(node));
        }
    };
    return Sweep<v1::WhereResponse>{registry_, std::move(take), std::move(begun), request.target()};
}

Result<v1::MatrixResponse> FleetQueries::matrix() const {
    const auto& matrix = matrix_.matrix();
    if (matrix.classes() > classes_limit) {
        return fail(Errc::unavailable, "the matrix has " + std::to_string(matrix.classes()) +
                                           " classes of nodes, expected at most " +
                                           std::to_string(classes_limit) +
                                           ": ask 'where' for single nodes");
    }
    v1::MatrixResponse out;
    std::vector<migration::Matrix::NodeId> places;
    for (const auto& [name, node] : registry_.nodes()) {
        auto* row = out.add_rows();
        row->set_node(name);
        const auto level = matrix_.level_of(node);
        row->set_level(level.level);
        row->set_destinations(level.destinations);
        if (const auto place = matrix_.place_of(node)) {
            row->set_class_(matrix.class_of(*place));
            places.push_back(*place);
        }
    }
    for (auto& from : migration::class_rows(matrix, places)) {
        auto* row = out.add_class_rows();
        row->set_class_(from.number);
        row->set_cells(std::move(from.cells));
    }
    out.set_classes(static_cast<std::uint32_t>(matrix.classes()));
    return out;
}

Result<v1::BaselineResponse> FleetQueries::baseline(const v1::BaselineRequest& request,
                                                    SteadyTime now) const {
    NodesByProfile hosts;
    for (const auto& name : request.nodes()) {
        const auto found = find(name);
        if (!found) {
            return fail(found.error());
        }
        const auto& node = **found;
        if (node.profile == nullptr || node.freshness == Freshness::gone) {
            return fail(
                Errc::unavailable,
                (node.profile == nullptr ? no_profile_text(node)
                                         : "node " + log_value(name) + " was last heard of " +
                                               age_text(age(node, now)) + " ago") +
                    ": leave it out, or ask again when it reports");
        }
        hosts[node.profile.get()].push_back(&node);
    }
    if (request.nodes().empty()) {
        for (const auto& [name, node] : registry_.nodes()) {
            if (node.profile != nullptr && node.freshness != Freshness::gone) {
                hosts[node.profile.get()].push_back(&node);
            }
        }
    }
    if (hosts.empty()) {
        return fail(Errc::not_found, "no node with a profile is known");
    }
    return wire::to_wire(baseline_of(hosts, matrix_.map()));
}

Result<v1::UpgradeImpactResponse> FleetQueries::upgrade_impact(
    const v1::UpgradeImpactRequest& request) const {
    const auto found = find(request.node());
    if (!found) {
        return fail(found.error());
    }
    const auto& node = **found;
    if (node.profile == nullptr) {
        return fail(Errc::unavailable, no_profile_text(node));
    }
    if (node.before.profile == nullptr) {
        return fail(Errc::not_found,
                    "no earlier profile of node " + log_value(node.name) +
                        " is known: its profile has not changed since it was first seen");
    }
    return wire::to_wire(migration::upgrade_impact(
        {.profile = node.before.profile->profile, .facts = node.before.facts},
        {.profile = node.profile->profile, .facts = node.host.facts}, matrix_.map()));
}

Result<Sweep<v1::PressureResponse>> FleetQueries::pressure(const v1::PressureRequest& request,
                                                           SteadyTime now) const {
    std::set<std::string, std::less<>> wanted;
    for (const auto& name : request.nodes()) {
        if (const auto found = find(name); !found) {
            return fail(found.error());
        }
        wanted.insert(name);
    }
    v1::PressureResponse begun;
    begun.set_hears_agents(true);
    auto take = [wanted = std::move(wanted), now](const Node& node, v1::PressureResponse& out) {
        if (wanted.empty() ? node.kind != NodeKind::agent : !wanted.contains(node.name)) {
            return;
        }
        fleet::PressureListing one;
        auto& line = one.nodes.emplace_back();
        line.name = node.name;
        if (node.pressure.report != nullptr) {
            line.told = told_pressure(node, now);
        }
        out.MergeFrom(wire::to_wire(one));
    };
    return Sweep<v1::PressureResponse>{registry_, std::move(take), std::move(begun)};
}

Result<const Node*> FleetQueries::find(std::string_view name) const {
    const auto* node = registry_.find(name);
    if (node == nullptr) {
        return fail(Errc::not_found, "node " + log_value(name) + " is not known");
    }
    return node;
}

}  // namespace scout::aggregator
