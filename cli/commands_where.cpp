// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "cli/offline.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/subject.h"
#include "cli/text.h"

/// `where` and `why-not`: one guest, and the nodes that it could go to.
namespace scout::cli {
namespace {

/// The forms with a prefix mean what they say; anything else that is there as a file is that file.
Result<Subject> resolve(const std::string& text, bool in_cluster) {
    if (in_cluster && std::count(text.begin(), text.end(), '/') == 1 &&
        !text.starts_with("guest/") && !text.starts_with("file:")) {
        return Subject{.kind = SubjectKind::guest, .name = text, .node = {}};
    }
    const bool prefixed =
        text.starts_with("file:") || text.starts_with("guest/") || text.starts_with("host-model@");
    if (!prefixed && !text.empty() && text.size() < subject_limit) {
        if (exists(text)) {
            return Subject{.kind = SubjectKind::file, .name = text, .node = {}};
        }
        if (names_a_file(text) && !names_a_vmi(text)) {
            return fail(Errc::not_found, text + ": no such file");
        }
    }
    return parse_subject(text);
}

/// `why-not` tells the whole story to people, and to scripts what `where` does.
int show_placement(Session& session, const migration::Placement& placement, bool story) {
    const auto code = exit_code_of(overall(placement));
    if (story && session.for_people()) {
        return session.show_text(explain(placement, session.style()), code);
    }
    return session.show(placement, code);
}

int ask_fleet(Session& session, const Request& request, const Subject& subject) {
    FleetSubject asked{.subject = subject, .text = request.subject, .described = std::nullopt};
    if (subject.kind == SubjectKind::file) {
        auto side = load_side(subject.name, nullptr);
        if (!side) {
            return session.fail_with(side.error());
        }
        asked.described = std::move(side->guest);
    }
    auto fleet = session.placing_fleet();
    if (!fleet) {
        return session.fail_with(fleet.error());
    }
    const auto placement = [&session, &fleet, &asked, &request] {
        const Progress progress(session.waits_for(), session.progress());
        return (*fleet)->where(asked, request.target);
    }();
    return placement ? show_placement(session, *placement, !request.target.empty())
                     : session.fail_with(placement.error());
}

int where_on_documents(Session& session, const Request& request, const std::string& guest_path) {
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    const auto guest = load_side(guest_path, *map);
    if (!guest) {
        return session.fail_with(guest.error());
    }
    const auto documents = expand_documents(request.on);
    if (!documents) {
        return session.fail_with(documents.error());
    }
    const auto placement = place(request.subject, *guest, load_hosts(*documents, *map), *map);
    return show_placement(session, placement, false);
}

int why_not_document(Session& session, const Request& request, const std::string& guest_path) {
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    const auto guest = load_side(guest_path, *map);
    if (!guest) {
        return session.fail_with(guest.error());
    }
    const auto target = load_host(request.target, *map);
    if (!target) {
        return session.fail_with(target.error());
    }
    migration::Placement placement;
    placement.subject = request.subject;
    placement.source = guest->host_model ? guest->path : std::string{};
    placement.nodes.push_back(
        {.node = request.target,
         .comparison = migration::compare(guest->guest, guest->stock, target->host.view(), *map)});
    return show_placement(session, placement, true);
}

}  // namespace

int run_where(Session& session, const Request& request) {
    const auto subject = resolve(request.subject, session.asks_cluster());
    if (!subject) {
        return session.fail_with(subject.error());
    }
    if (session.asks_dump() && !request.on.empty()) {
        return session.fail_with(
            {Errc::invalid, "where: expected --on, or --from or --live, found both"});
    }
    if (request.on.empty()) {
        return ask_fleet(session, request, *subject);
    }
    if (subject->kind != SubjectKind::file) {
        return session.fail_with(
            {Errc::invalid, "where --on: expected a document as the subject, found '" +
                                shown(request.subject) + "', which is no file"});
    }
    return where_on_documents(session, request, subject->name);
}

int run_why_not(Session& session, const Request& request) {
    const auto subject = resolve(request.subject, session.asks_cluster());
    if (!subject) {
        return session.fail_with(subject.error());
    }
    const bool there = !session.asks_cluster() && exists(request.target);
    if (there && subject->kind == SubjectKind::file) {
        return why_not_document(session, request, subject->name);
    }
    if (names_a_file(request.target)) {
        return session.fail_with(there ? Error{Errc::invalid,
                                               "why-not: expected a document as the subject of the "
                                               "document " +
                                                   request.target + ", found '" + request.subject +
                                                   "', which is no file"}
                                       : Error{Errc::not_found, request.target + ": no such file"});
    }
    if (const auto target = check_node_name("why-not TARGET", request.target); !target) {
        return session.fail_with(target.error());
    }
    return ask_fleet(session, request, *subject);
}

}  // namespace scout::cli
