// SPDX-License-Identifier: Apache-2.0
#include "aggregator/queries.h"

#include <map>
#include <utility>
#include <vector>

#include "aggregator/messages.h"
#include "aggregator/placement.h"
#include "base/logging.h"
#include "migration/baseline.h"
#include "migration/cpu_truth.h"
#include "migration/upgrade_impact.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

constexpr std::size_t cells_limit = 10'000;

std::string map_name(const migration::CpuMap* map) {
    return map == nullptr ? std::string{} : map->name();
}

char cell_character(migration::Matrix::Cell cell) {
    if (cell.gate == migration::Verdict::can && cell.truth == migration::Verdict::cannot) {
        return '!';
    }
    switch (migration::combine(cell.gate, cell.truth)) {
        case migration::Verdict::can:
            return 'y';
        case migration::Verdict::cannot:
            return 'n';
        case migration::Verdict::unknown:
            return '?';
    }
    return '?';
}

using Places = std::vector<std::optional<migration::Matrix::NodeId>>;

/// Writes rows of cells. Nodes of one class have equal cells, so each pair of classes is asked
/// once: a fleet has many nodes and few classes.
class CellWriter {
public:
    CellWriter(const Places& places, const migration::Matrix& matrix) : classes_(places.size()) {
        std::map<std::uint32_t, std::size_t> numbers;
        Places members;
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (places[i]) {
                const auto [entry, fresh] =
                    numbers.emplace(matrix.class_of(*places[i]), members.size());
                classes_[i] = entry->second;
                if (fresh) {
                    members.push_back(places[i]);
                }
            }
        }
        for (const auto& from : members) {
            auto& row = cells_.emplace_back();
            for (const auto& to : members) {
                row += cell_character(matrix.cell(*from, *to));
            }
        }
    }

    [[nodiscard]] std::string row(std::size_t number) const {
        std::string cells(classes_.size(), '?');
        if (classes_[number]) {
            const auto& by_class = cells_[*classes_[number]];
            for (std::size_t column = 0; column < classes_.size(); ++column) {
                cells[column] = classes_[column] ? by_class[*classes_[column]] : '?';
            }
        }
        cells[number] = '.';
        return cells;
    }

private:
    std::vector<std::optional<std::size_t>> classes_;  ///< of each node; nothing: not comparable
    std::vector<std::string> cells_;                   ///< class by class
};

std::string guests_unknown(const Node& node, SteadyTime now) {
    if (!node.host.guests_error.empty()) {
        return node.name + ": " + node.host.guests_error;
    }
    if (node.freshness != Freshness::fresh) {
        return node.name + ": last heard of " + age_text(age(node, now)) +
               " ago; the guests are those known then";
    }
    return {};
}

void add_guests(const Node& node, SteadyTime now, v1::GuestsResponse& out) {
    for (const auto& [uuid, guest] : node.guests) {
        auto* entry = out.add_guests();
        entry->set_node(node.name);
        *entry->mutable_guest() = to_wire(guest);
    }
    if (auto error = guests_unknown(node, now); !error.empty()) {
        out.add_errors(std::move(error));
    }
}

}  // namespace

v1::NodesResponse FleetQueries::nodes(SteadyTime now) const {
    v1::NodesResponse out;
    for (const auto& [name, node] : registry_.nodes()) {
        *out.add_nodes() = summary_of(node, matrix_, now);
    }
    out.set_map(map_name(matrix_.map()));
    return out;
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

Result<v1::GuestsResponse> FleetQueries::guests(const v1::GuestsRequest& request,
                                                SteadyTime now) const {
    v1::GuestsResponse out;
    if (!request.node().empty()) {
        const auto found = find(request.node());
        if (!found) {
            return fail(found.error());
        }
        add_guests(**found, now, out);
        return out;
    }
    for (const auto& [name, node] : registry_.nodes()) {
        add_guests(node, now, out);
    }
    return out;
}

Result<v1::WhereResponse> FleetQueries::where(const v1::WhereRequest& request,
                                              SteadyTime now) const {
    const auto subject = find_subject(request.subject(), registry_, matrix_);
    if (!subject) {
        return fail(subject.error());
    }
    migration::Placement out;
    out.subject = subject->name;
    out.source = subject->source == nullptr ? std::string{} : subject->source->name;
    PlacementSearch search(*subject, matrix_, now);
    if (!request.target().empty()) {
        const auto target = find(request.target());
        if (!target) {
            return fail(target.error());
        }
        if (*target == subject->source) {
            return fail(Errc::invalid, log_value(out.subject) + " is on node " +
                                           log_value(out.source) + " already: name another target");
        }
        out.nodes.push_back({.node = (*target)->name, .comparison = search.ask(**target)});
        return wire::to_wire(out);
    }
    for (const auto& [name, node] : registry_.nodes()) {
        if (&node != subject->source) {
            out.nodes.push_back({.node = name, .comparison = search.ask(node)});
        }
    }
    return wire::to_wire(out);
}

v1::MatrixResponse FleetQueries::matrix() const {
    v1::MatrixResponse out;
    const auto& matrix = matrix_.matrix();
    Places places;
    places.reserve(registry_.nodes().size());
    for (const auto& [name, node] : registry_.nodes()) {
        places.push_back(matrix_.place_of(node));
    }
    const bool with_cells = places.size() <= cells_limit;
    const CellWriter cells(with_cells ? places : Places{}, matrix);
    std::size_t number = 0;
    for (const auto& [name, node] : registry_.nodes()) {
        auto* row = out.add_rows();
        row->set_node(name);
        const auto level = matrix_.level_of(node);
        row->set_level(level.level);
        row->set_destinations(level.destinations);
        row->set_class_(places[number] ? matrix.class_of(*places[number]) : 0);
        if (with_cells) {
            row->set_cells(cells.row(number));
        }
        ++number;
    }
    out.set_classes(static_cast<std::uint32_t>(matrix.classes()));
    return out;
}

Result<v1::BaselineResponse> FleetQueries::baseline(const v1::BaselineRequest& request,
                                                    SteadyTime now) const {
    std::vector<migration::NamedProfile> hosts;
    for (const auto& name : request.nodes()) {
        const auto found = find(name);
        if (!found) {
            return fail(found.error());
        }
        const auto& node = **found;
        if (node.profile == nullptr || node.freshness == Freshness::gone) {
            return fail(Errc::unavailable,
                        "node " + log_value(name) +
                            (node.profile == nullptr
                                 ? " has no profile: " + node.host.probe_error
                                 : " was last heard of " + age_text(age(node, now)) + " ago") +
                            ": leave it out, or ask again when it reports");
        }
        hosts.push_back({.name = node.name, .profile = node.profile->profile});
    }
    if (request.nodes().empty()) {
        for (const auto& [name, node] : registry_.nodes()) {
            if (node.profile != nullptr && node.freshness != Freshness::gone) {
                hosts.push_back({.name = name, .profile = node.profile->profile});
            }
        }
    }
    if (hosts.empty()) {
        return fail(Errc::not_found, "no node with a profile is known");
    }
    return wire::to_wire(migration::find_baseline(hosts, matrix_.map()));
}

Result<v1::UpgradeImpactResponse> FleetQueries::upgrade_impact(
    const v1::UpgradeImpactRequest& request) const {
    const auto found = find(request.node());
    if (!found) {
        return fail(found.error());
    }
    const auto& node = **found;
    if (node.profile == nullptr) {
        return fail(Errc::unavailable, "node " + log_value(node.name) +
                                           " has no profile now: " + node.host.probe_error);
    }
    if (node.before == nullptr) {
        return fail(Errc::not_found,
                    "no earlier profile of node " + log_value(node.name) +
                        " is known: its profile has not changed since it was first seen");
    }
    return wire::to_wire(
        migration::upgrade_impact(node.before->profile, node.profile->profile, matrix_.map()));
}

Result<const Node*> FleetQueries::find(std::string_view name) const {
    const auto* node = registry_.find(name);
    if (node == nullptr) {
        return fail(Errc::not_found, "node " + log_value(name) + " is not known");
    }
    return node;
}

}  // namespace scout::aggregator
