// SPDX-License-Identifier: Apache-2.0
#include "wire/fleet_messages.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"
#include "wire/convert_parts.h"

namespace scout::wire {
namespace {

/// "NAMESPACE/NAME"
constexpr std::size_t full_name_limit = 63 + 1 + name_limit;

Result<fleet::NodeLine> line_of(const v1::NodeSummary& summary) {
    Checks checks;
    fleet::NodeLine line;
    line.name = checks.name("node name", summary.name());
    line.freshness = freshness_text(summary.freshness());
    line.age_ms = summary.age_ms();
    line.arch = checks.name("arch", summary.arch());
    line.virt_type = checks.name("virt_type", summary.virt_type());
    line.vendor = checks.name("vendor", summary.vendor());
    line.host_model = checks.name("host_model", summary.host_model());
    line.digest = checks.name("profile_digest", summary.profile_digest());
    line.source = checks.name("source", summary.source());
    line.guests = summary.guests();
    line.comparable = summary.comparable();
    line.reason = cut(summary.reason(), text_limit);
    line.not_counted = cut(summary.not_counted(), text_limit);
    if (line.not_counted.empty()) {
        line.level = summary.level();
    }
    if (summary.has_schedulable()) {
        line.schedulable = summary.schedulable();
    }
    line.destinations = summary.destinations();
    if (checks.count("notices", summary.notices_size())) {
        for (const auto& notice : summary.notices()) {
            line.notices.push_back(cut(notice, text_limit));
        }
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return line;
}

/// The aggregator tells the effective set, not how it found it.
Result<fleet::ProfileAnswer> profile_of(const v1::NodeResponse& response) {
    auto profile = from_wire(response.profile());
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    Checks checks;
    fleet::ProfileAnswer answer{
        .profile = std::move(*profile), .supported = {}, .not_comparable = {}};
    answer.supported.features = checks.set("supported", response.supported());
    if (answer.profile.supported_listed) {
        answer.supported.origin = migration::SetOrigin::listed;
    } else if (!answer.supported.features.empty()) {
        answer.supported.origin = answer.profile.origin == migration::ProfileOrigin::bare_cpu
                                      ? migration::SetOrigin::assumed
                                      : migration::SetOrigin::by_map;
    }
    if (!response.summary().comparable()) {
        answer.not_comparable = cut(response.summary().reason(), text_limit);
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return answer;
}

/// Equal CPUs of guests are told once.
Result<std::vector<migration::GuestCpu>> cpus_of(const v1::GuestsResponse& response) {
    std::vector<migration::GuestCpu> cpus;
    for (const auto& message : response.cpus()) {
        auto cpu = from_wire(message);
        if (!cpu) {
            return fail(std::move(cpu.error()));
        }
        cpus.push_back(std::move(*cpu));
    }
    return cpus;
}

template <class Messages>
Status add_guests(const std::string& node, const Messages& messages,
                  std::vector<fleet::GuestLine>& guests) {
    for (const auto& message : messages) {
        auto guest = guest_from_wire(node, message);
        if (!guest) {
            return fail(std::move(guest.error()));
        }
        guests.push_back(std::move(*guest));
    }
    return {};
}

/// Cells of a class: one for each class, or the table means nothing.
Status check_cells(const v1::MatrixResponse::ClassRow& row, std::size_t classes) {
    if (row.cells().size() != classes ||
        row.cells().find_first_not_of("yn!?") != std::string::npos) {
        return fail(Errc::invalid, "matrix: expected " + std::to_string(classes) +
                                       " cells of 'y', 'n', '!' and '?' for class " +
                                       std::to_string(row.class_()) + ", found " +
                                       std::to_string(row.cells().size()) +
                                       "; have scoutctl and the aggregator the same version?");
    }
    return {};
}

/// Nodes of a cluster, which call each other by name.
class LevelsReader {
public:
    Result<fleet::AnyMatrix> read(const v1::Levels& message) {
        answer_.layer = layer_from_wire("levels.layer", message.layer(), checks_);
        answer_.map = cut(message.map(), text_limit);
        answer_.levels.not_listed = message.not_listed();
        if (checks_.count("levels.nodes", message.nodes_size(), nodes_limit)) {
            for (const auto& node : message.nodes()) {
                enter(node);
            }
            for (int i = 0; i < message.nodes_size(); ++i) {
                auto& outlook = answer_.levels.outlooks[static_cast<std::size_t>(i)];
                outlook.out = places("levels.nodes.out", message.nodes(i).out());
                outlook.unknown = places("levels.nodes.unknown", message.nodes(i).unknown());
            }
        }
        if (checks_.count("levels.refused", message.refused_size(), nodes_limit)) {
            for (const auto& refusal : message.refused()) {
                refuse(refusal);
            }
        }
        if (auto status = checks_.status(); !status) {
            return fail(std::move(status.error()));
        }
        return std::move(answer_);
    }

private:
    /// Which nodes are equal is not told: each has an outlook of its own.
    void enter(const v1::Levels::Node& message) {
        auto& levels = answer_.levels;
        cluster::NodeLevel node;
        node.name = checks_.name("levels.nodes.name", message.name());
        node.schedulable = message.schedulable();
        if (message.has_level()) {
            node.level = message.level();
        }
        node.not_counted = cut(message.not_counted(), text_limit);
        node.still_counted = cut(message.still_counted(), text_limit);
        node.truth_not_known = message.truth_not_known();
        node.destinations = static_cast<std::uint32_t>(message.out_size());
        node.outlook = levels.outlooks.size();
        places_.emplace(node.name, static_cast<std::uint32_t>(levels.nodes.size()));
        levels.outlooks.emplace_back();
        levels.nodes.push_back(std::move(node));
    }

    std::uint32_t place(std::string_view field, const std::string& name) {
        const auto found = places_.find(name);
        if (found == places_.end()) {
            checks_.fault(field, "the name of a node that is listed", cut(name));
            return 0;
        }
        return found->second;
    }

    std::vector<std::uint32_t> places(std::string_view field, const RepeatedText& names) {
        std::vector<std::uint32_t> out;
        out.reserve(static_cast<std::size_t>(names.size()));
        for (const auto& name : names) {
            out.push_back(place(field, name));
        }
        return out;
    }

    void refuse(const v1::Levels::Refusal& message) {
        const auto from = place("levels.refused.from", message.from());
        const auto to = place("levels.refused.to", message.to());
        const auto layer = layer_from_wire("levels.refused.layer", message.layer(), checks_);
        std::vector<migration::Reason> reasons;
        if (checks_.count("levels.refused.reasons", message.reasons_size())) {
            for (const auto& reason : message.reasons()) {
                reasons.push_back(reason_from_wire(reason, checks_));
            }
        }
        if (!checks_.status()) {
            return;
        }
        auto& node = answer_.levels.nodes[from];
        ++node.refusals;
        answer_.levels.outlooks[node.outlook].refused.push_back(
            {.to = to,
             .layer = layer,
             .reasons =
                 std::make_shared<const std::vector<migration::Reason>>(std::move(reasons))});
    }

    Checks checks_;
    fleet::LevelsAnswer answer_;
    std::unordered_map<std::string, std::uint32_t> places_;
};

}  // namespace

std::string freshness_text(v1::Freshness freshness) {
    switch (freshness) {
        case v1::FRESH:
            return "fresh";
        case v1::STALE:
            return "stale";
        case v1::GONE:
            return "gone";
        case v1::NO_AGENT:
            return "";
        default:
            return "unknown";
    }
}

v1::Freshness freshness_named(std::string_view text) {
    for (const auto freshness : {v1::FRESH, v1::STALE, v1::GONE, v1::NO_AGENT}) {
        if (freshness_text(freshness) == text) {
            return freshness;
        }
    }
    return v1::FRESHNESS_UNKNOWN;
}

v1::WhereRequest to_request(const fleet::FleetSubject& subject, const std::string& target) {
    v1::WhereRequest request;
    auto& message = *request.mutable_subject();
    if (subject.described) {
        *message.mutable_described() = to_wire(*subject.described);
    } else if (subject.subject.kind == fleet::SubjectKind::host_model) {
        message.set_host_model_of(subject.subject.node);
    } else {
        message.set_guest(subject.subject.name);
        message.set_node(subject.subject.node);
    }
    message.set_name(cut(subject.text));
    request.set_target(target);
    return request;
}

Result<fleet::GuestLine> guest_from_wire(const std::string& node, const v1::Guest& guest) {
    Checks checks;
    fleet::GuestLine line;
    line.node = checks.name("node", node);
    line.uuid = checks.name("uuid", guest.uuid());
    line.name = cut(guest.name(), full_name_limit);
    line.state = checks.name("state", guest.state());
    line.since_unix_ms = checks.unix_ms("since_unix_ms", guest.since_unix_ms());
    if (!guest.found_by().empty()) {
        line.found_by = checks.found_by("found_by", guest.found_by());
    }
    line.memory_kib = guest.memory_kib();
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    line.cpu_error = cut(guest.cpu_error(), text_limit);
    if (guest.has_cpu()) {
        auto cpu = from_wire(guest.cpu());
        if (!cpu) {
            return fail(std::move(cpu.error()).within("guest " + line.name));
        }
        line.cpu = std::move(*cpu);
    }
    return line;
}

Result<fleet::NodesAnswer> from_wire(const v1::NodesResponse& response) {
    fleet::NodesAnswer answer;
    answer.map = cut(response.map(), text_limit);
    for (const auto& summary : response.nodes()) {
        auto line = line_of(summary);
        if (!line) {
            return fail(std::move(line.error()));
        }
        answer.nodes.push_back(std::move(*line));
    }
    return answer;
}

Result<fleet::NodeDetail> from_wire(const v1::NodeResponse& response) {
    auto line = line_of(response.summary());
    if (!line) {
        return fail(std::move(line.error()));
    }
    fleet::NodeDetail detail;
    detail.line = std::move(*line);
    detail.facts = from_wire(response.facts());
    detail.yardstick = cut(response.yardstick(), text_limit);
    for (const auto& [key, value] : response.labels()) {
        detail.labels.insert_or_assign(cut(key, text_limit), cut(value, text_limit));
    }
    if (auto added = add_guests(detail.line.name, response.guests(), detail.guests); !added) {
        return fail(std::move(added.error()));
    }
    if (response.has_profile()) {
        auto profile = profile_of(response);
        if (!profile) {
            return fail(std::move(profile.error()).within("profile"));
        }
        detail.profile = std::move(*profile);
    }
    return detail;
}

Result<fleet::GuestsAnswer> from_wire(const v1::GuestsResponse& response) {
    fleet::GuestsAnswer answer;
    const auto cpus = cpus_of(response);
    if (!cpus) {
        return fail(cpus.error());
    }
    for (const auto& entry : response.guests()) {
        auto guest = guest_from_wire(entry.node(), entry.guest());
        if (!guest) {
            return fail(std::move(guest.error()));
        }
        if (entry.has_cpu()) {
            if (entry.cpu() >= cpus->size()) {
                return fail(Errc::invalid, "guest " + guest->name + ": its CPU is not listed");
            }
            guest->cpu = (*cpus)[entry.cpu()];
        }
        answer.guests.push_back(std::move(*guest));
    }
    for (const auto& error : response.errors()) {
        answer.errors.push_back(cut(error, text_limit));
    }
    return answer;
}

Result<fleet::AnyMatrix> from_wire(const v1::MatrixResponse& response) {
    if (response.has_levels()) {
        return LevelsReader().read(response.levels());
    }
    fleet::MatrixAnswer answer;
    std::unordered_set<std::uint32_t> known;
    const auto classes = static_cast<std::size_t>(response.class_rows_size());
    for (const auto& row : response.class_rows()) {
        if (auto checked = check_cells(row, classes); !checked) {
            return fail(std::move(checked.error()));
        }
        known.insert(row.class_());
        answer.classes.push_back({.number = row.class_(), .cells = row.cells()});
    }
    for (const auto& row : response.rows()) {
        if (row.has_class_() && !known.contains(row.class_())) {
            return fail(Errc::invalid, "matrix: expected cells of class " +
                                           std::to_string(row.class_()) + ", which node " +
                                           cut(row.node()) +
                                           " is in, found none; have scoutctl and the aggregator "
                                           "the same version?");
        }
        answer.rows.push_back({.node = cut(row.node()),
                               .level = row.level(),
                               .destinations = row.destinations(),
                               .node_class = row.has_class_()
                                                 ? std::optional<std::uint32_t>(row.class_())
                                                 : std::nullopt});
    }
    return answer;
}

}  // namespace scout::wire
