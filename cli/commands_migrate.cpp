// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/files.h"
#include "cli/make_move.h"
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

struct Expectation {
    bool holds = false;
    const char* otherwise = "";
};

Status check(const Request& request) {
    const auto& move = request.move;
    const bool named = !request.subject.empty();
    const bool of_manifest = !move.manifest.empty();
    const bool to = !move.to.empty();
    const bool where = !move.where.empty();
    const bool dump = !request.dump.paths.empty();
    const bool alone =
        named && !of_manifest && !to && !where && !move.dry_run && !move.wait && !dump;
    const std::array<Expectation, 7> expectations{
        {{!move.cancel || alone, "expected --cancel with a VM alone, found other options or none"},
         {of_manifest || named, "expected a VM, or -f and a manifest"},
         {!of_manifest || !named, "expected a VM, or -f and a manifest, found both"},
         {!of_manifest || !(to || where),
          "expected where to go in the manifest, found --to or --where beside -f"},
         {!(to && where), "expected --to or --where, found both"},
         {move.dry_run || !dump,
          "expected --dry-run beside --from: in a dump nothing can be moved"},
         {!move.dry_run || !move.wait, "expected --dry-run or --wait, found both"}}};
    for (const auto& [holds, otherwise] : expectations) {
        if (!holds) {
            return fail(Errc::invalid, std::string{"migrate: "} + otherwise);
        }
    }
    return {};
}

/// Empty: there is none, and the command line says it all.
Result<std::string> read_manifest(const std::string& path) {
    if (path.empty()) {
        return std::string{};
    }
    return path == standard_input ? read_descriptor(STDIN_FILENO, document_limit) : read_file(path);
}

Result<MoveRequest> read_request(const std::string& path, const std::string& text) {
    auto request = cluster::read_move_manifest(text);
    if (!request) {
        return fail(
            std::move(request.error()).within(path == standard_input ? "standard input" : path));
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

/// Names the VMI in what is asked, where the command line does.
Result<cluster::MoveForecast> judged(Session& session, const Request& request,
                                     const cluster::Dump& dump, const migration::CpuMap* map,
                                     MoveRequest& asked) {
    if (dump.objects.nodes.empty()) {
        return fail(Errc::invalid, "expected Node objects (kubectl get nodes -o yaml), found none");
    }
    if (request.move.manifest.empty()) {
        if (auto named = name_vmi(dump.objects, request.subject, asked); !named) {
            return fail(std::move(named.error()));
        }
    }
    const Progress progress(session.waits_for(), session.progress());
    return cluster::forecast_move(dump.objects, asked, dump.moment, map);
}

}  // namespace

int run_migrate(Session& session, const Request& request) {
    if (auto checked = check(request); !checked) {
        return session.fail_with(checked.error());
    }
    const auto& move = request.move;
    if (move.cancel) {
        return cancel_moves(session, request);
    }
    const auto manifest = read_manifest(move.manifest);
    if (!manifest) {
        return session.fail_with(manifest.error());
    }
    auto asked = move.manifest.empty() ? aimed(move) : read_request(move.manifest, *manifest);
    const auto map = session.map();
    if (!asked || !map) {
        return session.fail_with(asked ? map.error() : asked.error());
    }
    const auto dump = session.objects_of_places();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within("migrate"));
    }
    auto forecast = judged(session, request, *dump, *map, *asked);
    if (!forecast) {
        return session.fail_with(Error{forecast.error()}.within("migrate"));
    }
    const int code = exit_code_of(*forecast);
    if (move.dry_run || code != exit_code::can) {
        return session.show(*forecast, code);
    }
    return make_move(session, request, dump->objects, *manifest, *std::move(asked),
                     *std::move(forecast));
}

}  // namespace scout::cli
