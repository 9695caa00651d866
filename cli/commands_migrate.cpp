// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <unistd.h>

#include "base/files.h"
#include "cli/offline.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/subject.h"
#include "cluster/move_forecast.h"
#include "cluster/move_manifest.h"
#include "cluster/vm_placement.h"
#include "migration/selector_syntax.h"

/// `migrate`: a migration that is aimed, judged before it is made.
namespace scout::cli {
namespace {

using migration::MoveRequest;

Status check(const Request& request) {
    const auto& move = request.move;
    if (!move.dry_run) {
        return fail(Errc::invalid,
                    "migrate: expected --dry-run: scoutctl judges migrations and does not make "
                    "them yet; make it with 'kubectl create -f', or 'virtctl migrate'");
    }
    if (move.manifest.empty() == request.subject.empty()) {
        return fail(Errc::invalid,
                    move.manifest.empty()
                        ? "migrate: expected a VM, or -f and a manifest"
                        : "migrate: expected a VM, or -f and a manifest, found both");
    }
    if (!move.manifest.empty() && !(move.to.empty() && move.where.empty())) {
        return fail(Errc::invalid,
                    "migrate -f: expected where to go in the manifest, found --to or --where");
    }
    if (!move.to.empty() && !move.where.empty()) {
        return fail(Errc::invalid, "migrate: expected --to or --where, found both");
    }
    return {};
}

Result<MoveRequest> read_request(const std::string& path) {
    const bool piped = path == standard_input;
    const auto text = piped ? read_descriptor(STDIN_FILENO, document_limit) : read_file(path);
    if (!text) {
        return fail(piped ? Error{text.error()}.within("standard input") : text.error());
    }
    auto request = cluster::read_move_manifest(*text);
    if (!request) {
        return fail(std::move(request.error()).within(piped ? "standard input" : path));
    }
    return request;
}

/// What a manifest would say, but for the VMI.
Result<MoveRequest> aimed(const MigrateRequest& move) {
    MoveRequest request;
    if (!move.to.empty()) {
        if (auto named = check_node_name("migrate --to", move.to); !named) {
            return fail(std::move(named.error()));
        }
        request.term_path = "--to";
        request.wish.term = migration::NodeSelectorTerm{
            .expressions = {},
            .fields = {{.key = "metadata.name", .op = "In", .values = {move.to}}}};
    } else if (!move.where.empty()) {
        auto term = migration::parse_selector(move.where);
        if (!term) {
            return fail(std::move(term.error()).within("migrate --where"));
        }
        request.term_path = "--where";
        request.wish.term = std::move(*term);
    }
    return request;
}

Status name_vmi(const cluster::Objects& objects, const std::string& subject, MoveRequest& request) {
    const auto vmi = cluster::find_vmi(objects, subject);
    if (!vmi) {
        return fail(vmi.error());
    }
    request.space = (*vmi)->meta.space.str();
    request.vmi = (*vmi)->meta.name;
    return {};
}

int exit_code_of(const cluster::MoveForecast& forecast) {
    if (forecast.verdict == cluster::MoveVerdict::ok) {
        return exit_code::can;
    }
    return forecast.uncertain ? exit_code::unknown : exit_code::cannot;
}

}  // namespace

int run_migrate(Session& session, const Request& request) {
    if (auto checked = check(request); !checked) {
        return session.fail_with(checked.error());
    }
    const auto& move = request.move;
    auto asked = move.manifest.empty() ? aimed(move) : read_request(move.manifest);
    const auto map = session.map();
    if (!asked || !map) {
        return session.fail_with(asked ? map.error() : asked.error());
    }
    const auto dump = session.objects_of_places();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within("migrate"));
    }
    if (dump->objects.nodes.empty()) {
        return session.fail_with(
            {Errc::invalid,
             "migrate: expected Node objects (kubectl get nodes -o yaml), found none"});
    }
    if (move.manifest.empty()) {
        if (auto named = name_vmi(dump->objects, request.subject, *asked); !named) {
            return session.fail_with(named.error());
        }
    }
    const auto forecast = [&session, &dump, &asked, &map] {
        const Progress progress(session.waits_for(), session.progress());
        return cluster::forecast_move(dump->objects, *asked, dump->moment, *map);
    }();
    if (!forecast) {
        return session.fail_with(Error{forecast.error()}.within("migrate"));
    }
    return session.show(*forecast, exit_code_of(*forecast));
}

}  // namespace scout::cli
