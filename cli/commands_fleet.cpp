// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/node_name.h"
#include "cli/offline.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/subject.h"
#include "migration/upgrade_impact.h"

/// Commands that ask the aggregator, or the same question of documents.
namespace scout::cli {
namespace {

/// How whoever answers is opened.
using Open = Result<std::unique_ptr<Fleet>> (Session::*)();

/// Asks the aggregator one question and shows the answer.
template <class Ask>
int ask(Session& session, Open open, Ask question) {
    auto fleet = (session.*open)();
    if (!fleet) {
        return session.fail_with(fleet.error());
    }
    auto answer = [&session, &fleet, &question] {
        const Progress progress(session.waits_for(), session.progress());
        return question(**fleet);
    }();
    return answer ? session.show(*answer) : session.fail_with(answer.error());
}

template <class Ask>
int ask(Session& session, Ask question) {
    return ask(session, &Session::fleet, std::move(question));
}

/// The same about one node, by name.
template <class Ask>
int ask_about(Session& session, std::string_view what, const std::string& node, Ask question) {
    if (const auto checked = check_node_name(what, node); !checked) {
        return session.fail_with(checked.error());
    }
    return ask(session, question);
}

/// Hosts of files and folders; the map that judges them.
struct Documents {
    Hosts hosts;
    const migration::CpuMap* map = nullptr;
};

Result<Documents> load_documents(Session& session, const std::vector<std::string>& paths) {
    const auto map = session.map();
    if (!map) {
        return fail(map.error());
    }
    const auto documents = expand_documents(paths);
    if (!documents) {
        return fail(documents.error());
    }
    const Progress progress("reading documents", session.progress());
    return Documents{.hosts = load_hosts(*documents, *map), .map = *map};
}

int baseline_of_documents(Session& session, const std::vector<std::string>& paths) {
    const auto documents = load_documents(session, paths);
    if (!documents) {
        return session.fail_with(documents.error());
    }
    const auto baseline = make_baseline(documents->hosts, documents->map);
    return baseline ? session.show(*baseline) : session.fail_with(baseline.error());
}

int impact_of_documents(Session& session, const Request& request) {
    if (const auto once = check_one_input(request.before, request.after); !once) {
        return session.fail_with(once.error());
    }
    const auto map = session.map();
    if (!map) {
        return session.fail_with(map.error());
    }
    const auto before = load_host(request.before, *map);
    if (!before) {
        return session.fail_with(before.error());
    }
    const auto after = load_host(request.after, *map);
    if (!after) {
        return session.fail_with(after.error());
    }
    const auto facts_of = [](const HostSide& side) {
        const auto& [profile, facts] = side.host.documents;
        return migration::Target{.profile = profile, .facts = facts};
    };
    return session.show(migration::upgrade_impact(facts_of(*before), facts_of(*after), *map));
}

int watch_guests(Session& session, const std::string& node) {
    auto fleet = session.fleet();
    if (!fleet) {
        return session.fail_with(fleet.error());
    }
    int written = exit_code::can;
    const auto ended = (*fleet)->watch_guests(node, [&session, &written](const GuestEvent& event) {
        written = session.show_event(event);
        return written == exit_code::can;
    });
    return ended ? written : session.fail_with(ended.error());
}

}  // namespace

int run_nodes(Session& session, const Request& /*request*/) {
    return ask(session, [](Fleet& fleet) { return fleet.nodes(); });
}

int run_node(Session& session, const Request& request) {
    return ask_about(session, "node", request.subject,
                     [&request](Fleet& fleet) { return fleet.node(request.subject); });
}

int run_guests(Session& session, const Request& request) {
    if (!request.node.empty()) {
        if (const auto checked = check_node_name("--node", request.node); !checked) {
            return session.fail_with(checked.error());
        }
    }
    if (request.watch) {
        return watch_guests(session, request.node);
    }
    return ask(session, [&request](Fleet& fleet) { return fleet.guests(request.node); });
}

int run_matrix(Session& session, const Request& request) {
    if (session.asks_dump() && !request.documents.empty()) {
        return session.fail_with(
            {Errc::invalid, "matrix: expected --documents, or --from or --live, found both"});
    }
    if (request.documents.empty()) {
        return ask(session, [](Fleet& fleet) { return fleet.matrix(); });
    }
    const auto documents = load_documents(session, request.documents);
    if (!documents) {
        return session.fail_with(documents.error());
    }
    const auto& hosts = documents->hosts;
    const auto code = session.show(make_matrix(hosts, documents->map));
    return code == exit_code::can && hosts.usable.empty()
               ? session.fail_with(nothing_usable(hosts.unusable.size()))
               : code;
}

int run_baseline(Session& session, const Request& request) {
    const auto& items = request.items;
    if (session.asks_dump()) {
        return ask(session, [&items](Fleet& fleet) { return fleet.baseline(items); });
    }
    const auto there = std::count_if(items.begin(), items.end(), exists);
    if (there == 0 || items.empty()) {
        const auto path = std::find_if(items.begin(), items.end(), [](const std::string& item) {
            return names_a_file(item) || !is_node_name(item);
        });
        if (path != items.end()) {
            return session.fail_with(
                {Errc::not_found, *path + ": no such file or folder, and no name of a node"});
        }
        return ask(session, [&items](Fleet& fleet) { return fleet.baseline(items); });
    }
    const auto missing = std::find_if_not(items.begin(), items.end(), exists);
    if (missing != items.end()) {
        return session.fail_with(
            {Errc::not_found, *missing + ": no such file or folder (documents and names of nodes "
                                         "cannot be mixed)"});
    }
    return baseline_of_documents(session, items);
}

int run_upgrade_impact(Session& session, const Request& request) {
    const bool documents = !request.before.empty() && !request.after.empty();
    const bool any = !request.before.empty() || !request.after.empty();
    if (any != documents || documents != request.subject.empty()) {
        return session.fail_with({Errc::invalid,
                                  "upgrade-impact: expected the name of a node, or --before and "
                                  "--after with a document each"});
    }
    if (documents && session.asks_dump()) {
        return session.fail_with({Errc::invalid,
                                  "upgrade-impact: expected --before and --after, or --from or "
                                  "--live, found both"});
    }
    if (documents) {
        return impact_of_documents(session, request);
    }
    return ask_about(session, "upgrade-impact", request.subject,
                     [&request](Fleet& fleet) { return fleet.upgrade_impact(request.subject); });
}

int run_pressure(Session& session, const Request& request) {
    for (const auto& name : request.items) {
        if (const auto checked = check_node_name("pressure", name); !checked) {
            return session.fail_with(checked.error());
        }
    }
    return ask(session, [&request](Fleet& fleet) { return fleet.pressure(request.items); });
}

int run_protection(Session& session, const Request& request) {
    if (!request.items.empty() && !request.node.empty()) {
        return session.fail_with(
            {Errc::invalid, "protection: expected names of VMs, or --node, found both"});
    }
    if (!request.node.empty()) {
        if (const auto checked = check_node_name("--node", request.node); !checked) {
            return session.fail_with(checked.error());
        }
    }
    return ask(session, &Session::protected_fleet, [&request](Fleet& fleet) {
        return fleet.protection({.vms = request.items, .node = request.node});
    });
}

}  // namespace scout::cli
