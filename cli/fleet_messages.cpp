// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_messages.h"

#include <unordered_set>
#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"

namespace scout::cli {
namespace {

namespace v1 = virt_scout::v1;

std::string freshness_text(v1::Freshness freshness) {
    switch (freshness) {
        case v1::FRESH:
            return "fresh";
        case v1::STALE:
            return "stale";
        case v1::GONE:
            return "gone";
        default:
            return "unknown";
    }
}

Result<NodeLine> line_of(const v1::NodeSummary& summary) {
    wire::Checks checks;
    NodeLine line;
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
    line.reason = wire::cut(summary.reason(), wire::text_limit);
    line.level = summary.level();
    line.destinations = summary.destinations();
    if (checks.count("notices", summary.notices_size())) {
        for (const auto& notice : summary.notices()) {
            line.notices.push_back(wire::cut(notice, wire::text_limit));
        }
    }
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    return line;
}

/// The aggregator tells the effective set, not how it found it.
Result<ProfileAnswer> profile_of(const v1::NodeResponse& response) {
    auto profile = wire::from_wire(response.profile());
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    wire::Checks checks;
    ProfileAnswer answer{.profile = std::move(*profile), .supported = {}, .not_comparable = {}};
    answer.supported.features = checks.set("supported", response.supported());
    if (answer.profile.supported_listed) {
        answer.supported.origin = migration::SetOrigin::listed;
    } else if (!answer.supported.features.empty()) {
        answer.supported.origin = answer.profile.origin == migration::ProfileOrigin::bare_cpu
                                      ? migration::SetOrigin::assumed
                                      : migration::SetOrigin::by_map;
    }
    if (!response.summary().comparable()) {
        answer.not_comparable = wire::cut(response.summary().reason(), wire::text_limit);
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
        auto cpu = wire::from_wire(message);
        if (!cpu) {
            return fail(std::move(cpu.error()));
        }
        cpus.push_back(std::move(*cpu));
    }
    return cpus;
}

template <class Messages>
Status add_guests(const std::string& node, const Messages& messages,
                  std::vector<GuestLine>& guests) {
    for (const auto& message : messages) {
        auto guest = from_message(node, message);
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

}  // namespace

v1::WhereRequest to_request(const FleetSubject& subject, const std::string& target) {
    v1::WhereRequest request;
    auto& message = *request.mutable_subject();
    if (subject.described) {
        *message.mutable_described() = wire::to_wire(*subject.described);
    } else if (subject.subject.kind == SubjectKind::host_model) {
        message.set_host_model_of(subject.subject.node);
    } else {
        message.set_guest(subject.subject.name);
        message.set_node(subject.subject.node);
    }
    message.set_name(wire::cut(subject.text));
    request.set_target(target);
    return request;
}

Result<GuestLine> from_message(const std::string& node, const v1::Guest& guest) {
    wire::Checks checks;
    GuestLine line;
    line.node = checks.name("node", node);
    line.uuid = checks.name("uuid", guest.uuid());
    line.name = checks.name("guest name", guest.name());
    line.state = checks.name("state", guest.state());
    line.since_unix_ms = checks.unix_ms("since_unix_ms", guest.since_unix_ms());
    line.found_by = checks.found_by("found_by", guest.found_by());
    line.memory_kib = guest.memory_kib();
    if (auto status = checks.status(); !status) {
        return fail(std::move(status.error()));
    }
    line.cpu_error = wire::cut(guest.cpu_error(), wire::text_limit);
    if (guest.has_cpu()) {
        auto cpu = wire::from_wire(guest.cpu());
        if (!cpu) {
            return fail(std::move(cpu.error()).within("guest " + line.name));
        }
        line.cpu = std::move(*cpu);
    }
    return line;
}

Result<NodesAnswer> from_response(const v1::NodesResponse& response) {
    NodesAnswer answer;
    answer.map = wire::cut(response.map(), wire::text_limit);
    for (const auto& summary : response.nodes()) {
        auto line = line_of(summary);
        if (!line) {
            return fail(std::move(line.error()));
        }
        answer.nodes.push_back(std::move(*line));
    }
    return answer;
}

Result<NodeDetail> from_response(const v1::NodeResponse& response) {
    auto line = line_of(response.summary());
    if (!line) {
        return fail(std::move(line.error()));
    }
    NodeDetail detail;
    detail.line = std::move(*line);
    detail.facts = wire::from_wire(response.facts());
    detail.yardstick = wire::cut(response.yardstick(), wire::text_limit);
    for (const auto& [key, value] : response.labels()) {
        detail.labels.insert_or_assign(wire::cut(key, wire::text_limit),
                                       wire::cut(value, wire::text_limit));
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

Result<GuestsAnswer> from_response(const v1::GuestsResponse& response) {
    GuestsAnswer answer;
    const auto cpus = cpus_of(response);
    if (!cpus) {
        return fail(cpus.error());
    }
    for (const auto& entry : response.guests()) {
        auto guest = from_message(entry.node(), entry.guest());
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
        answer.errors.push_back(wire::cut(error, wire::text_limit));
    }
    return answer;
}

Result<MatrixAnswer> from_response(const v1::MatrixResponse& response) {
    MatrixAnswer answer;
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
                                           wire::cut(row.node()) +
                                           " is in, found none; have scoutctl and the aggregator "
                                           "the same version?");
        }
        answer.rows.push_back({.node = wire::cut(row.node()),
                               .level = row.level(),
                               .destinations = row.destinations(),
                               .node_class = row.has_class_()
                                                 ? std::optional<std::uint32_t>(row.class_())
                                                 : std::nullopt});
    }
    return answer;
}

}  // namespace scout::cli
