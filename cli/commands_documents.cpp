// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "cli/offline.h"
#include "cli/pair_stream.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "fleet/dump_fleet.h"
#include "migration/cpu_truth.h"
#include "migration/labels.h"

/// Commands that only ever read documents.
namespace scout::cli {
namespace {

int compare_pair(Session& session, const Request& request, const migration::CpuMap* map) {
    const auto guest = load_any(request.subject, map);
    const Result<AnySide> target = load_host(request.target, map);
    std::optional<PairAnswer> compared;
    if (guest && target) {
        compared = compare_by_truth(make_ready(*guest, map), make_ready(*target, map));
    }
    if (compared) {
        return session.show(*compared, exit_code_of(compared->comparison.truth));
    }
    PairAnswer answer{.source = request.subject, .target = request.target, .comparison = {}};
    const auto blame = [&session, &answer](const std::string& path, const Error& error) {
        static_cast<void>(session.fail_with(error));
        auto one = unusable_document(path, error.message);
        answer.comparison.reasons.push_back(std::move(one.reasons.front()));
    };
    if (!guest) {
        blame(request.subject, guest.error());
    }
    if (!target) {
        blame(request.target, target.error());
    }
    const bool for_scripts = session.format() == Format::json || session.format() == Format::yaml;
    return for_scripts ? session.show(answer, exit_code::error) : exit_code::error;
}

/// Live domains among the documents are guests: sources of pairs, never targets.
struct AllSides {
    std::vector<AnySide> sides;
    std::vector<DocumentState> states;
};

AllSides load_all(const std::vector<std::string>& documents, const migration::CpuMap* map) {
    AllSides all;
    for (const auto& path : documents) {
        auto side = load_any(path, map);
        all.states.push_back({.document = path,
                              .usable = side.has_value(),
                              .reason = side ? std::string{} : side.error().message});
        if (side) {
            all.sides.push_back(std::move(*side));
        }
    }
    return all;
}

int write_pairs(Session& session, const AllSides& all, const migration::CpuMap* map) {
    PairStream stream(session.format(), session.style());
    int code = session.show_text(stream.head(all.states));
    const Progress progress("comparing documents", session.progress_beside_output());
    std::vector<ReadySide> ready;
    ready.reserve(all.sides.size());
    for (const auto& any : all.sides) {
        ready.push_back(make_ready(any, map));
    }
    for (const auto& source : ready) {
        std::string lines;
        for (const auto& target : ready) {
            const auto answer =
                &source == &target ? std::nullopt : compare_by_truth(source, target);
            lines += answer ? stream.pair(*answer) : std::string{};
        }
        if (code == exit_code::can) {
            code = session.show_text(lines);
        }
    }
    return code == exit_code::can ? session.show_text(stream.tail()) : code;
}

int compare_all(Session& session, const std::string& folder, const migration::CpuMap* map) {
    std::error_code ignored;
    if (exists(folder) && !std::filesystem::is_directory(folder, ignored)) {
        return session.fail_with(
            {Errc::invalid, "--all: expected a folder, found the file " + folder});
    }
    const auto documents = expand_documents({folder});
    if (!documents) {
        return session.fail_with(documents.error());
    }
    const auto all = [&session, &documents, map] {
        const Progress progress("reading documents", session.progress());
        return load_all(*documents, map);
    }();
    const auto code = write_pairs(session, all, map);
    return code == exit_code::can && all.sides.empty()
               ? session.fail_with(nothing_usable(documents->size()))
               : code;
}

int labels_of_document(Session& session, const Request& request) {
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    const auto host = load_host(request.subject, *map);
    if (!host) {
        return session.fail_with(host.error());
    }
    std::set<std::string, std::less<>> obsolete(request.obsolete_models.begin(),
                                                request.obsolete_models.end());
    const migration::LabelOptions options{.obsolete_models =
                                              obsolete.empty() ? nullptr : &obsolete};
    const auto& [profile, facts] = host->host.documents;
    return session.show(
        LabelsAnswer{.document = request.subject,
                     .labels = migration::labeller_labels(profile, facts, *map, options),
                     .left_out = migration::labels_not_derivable(profile, facts, *map),
                     .map = migration::supported_features(profile, *map).map,
                     .assumed = profile.origin == migration::ProfileOrigin::bare_cpu});
}

int check_labels(Session& session) {
    const auto dump = session.dump();
    if (!dump) {
        return session.fail_with(dump.error());
    }
    const auto answer = (*dump)->check_labels();
    const bool wrong = std::any_of(answer.nodes.begin(), answer.nodes.end(), [](const auto& node) {
        return !node.findings.empty() &&
               node.findings.front().severity == migration::Severity::error;
    });
    return session.show(answer, wrong ? exit_code::cannot : exit_code::can);
}

}  // namespace

int run_compare(Session& session, const Request& request) {
    const bool pair = !request.subject.empty() && !request.target.empty();
    const bool all = !request.all.empty();
    if (pair == all || (all && !request.subject.empty())) {
        return session.fail_with(
            {Errc::invalid, "compare: expected two documents, or --all with a folder"});
    }
    if (const auto once = check_one_input(request.subject, request.target); !once) {
        return session.fail_with(once.error());
    }
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    return all ? compare_all(session, request.all, *map) : compare_pair(session, request, *map);
}

int run_profile(Session& session, const Request& request) {
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    auto host = load_host(request.subject, *map);
    if (!host) {
        return session.fail_with(host.error());
    }
    return session.show(make_profile(std::move(host->host.documents.profile), *map));
}

int run_labels(Session& session, const Request& request) {
    const bool document = !request.subject.empty();
    if (request.check != session.asks_dump() || document == request.check) {
        return session.fail_with(
            {Errc::invalid,
             "labels: expected a document, or --check with --from or --live: the "
             "nodes that are checked"});
    }
    return request.check ? check_labels(session) : labels_of_document(session, request);
}

}  // namespace scout::cli
