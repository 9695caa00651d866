// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster_access.h"
#include "cli/session.h"
#include "cli/settings.h"

namespace scout::cli {

struct Request;

/// One command; answers the exit code.
using Handler = int (*)(Session& session, const Request& request);

/// `debug watch`: which cluster, and which of its objects.
struct WatchRequest {
    AccessRequest access;
    std::string space;   ///< namespace; empty: all
    std::string labels;  ///< label selector
    std::string fields;  ///< field selector
    bool until_synced = false;
};

/// `migrate`: a manifest, or a VM and where it shall go.
struct MigrateRequest {
    std::string manifest;  ///< -f
    std::string to;        ///< a node
    std::string where;     ///< a label selector
    bool dry_run = false;
    bool wait = false;
    bool cancel = false;
};

/// `policy tune`: what a policy with an expiry says, and for which VMs.
struct TuneRequest {
    std::string lasts;  ///< --for
    std::string space;
    std::string space_selector;
    std::string selector;
    bool all = false;
    std::string bandwidth;
    std::optional<std::int64_t> completion_seconds_per_gib;
    std::optional<bool> auto_converge;
    std::optional<bool> post_copy;
    std::optional<bool> workload_disruption;
    std::string name;
    std::string end;  ///< the name of one
    bool list = false;
    bool dry_run = false;
    bool without_aggregator = false;

    bool operator==(const TuneRequest&) const = default;
};

/// What the command line says, as it stands there; empty where it says nothing.
struct Request {
    Settings flags;
    std::optional<std::string> config;
    Handler handler = nullptr;

    DumpRequest dump;       ///< --from or --live, and how it is judged
    WatchRequest watch_of;  ///< debug watch
    MigrateRequest move;    ///< migrate
    TuneRequest tune;       ///< policy tune

    std::string subject;                 ///< first thing asked about: guest, node, document, shell
    std::string target;                  ///< second one: compare B, why-not TARGET
    std::vector<std::string> items;      ///< several of them: nodes, documents, VMs, manifests
    std::vector<std::string> on;         ///< where --on
    std::vector<std::string> documents;  ///< matrix --documents
    std::vector<std::string> obsolete_models;  ///< labels --obsolete-cpu-models
    std::string all;                           ///< compare --all
    std::string before;                        ///< upgrade-impact --before
    std::string after;                         ///< upgrade-impact --after
    std::string node;                          ///< guests --node, protection --node
    std::string at;                            ///< stuck --at
    bool watch = false;                        ///< guests --watch
    bool check = false;                        ///< labels --check
};

int run_nodes(Session& session, const Request& request);
int run_node(Session& session, const Request& request);
int run_guests(Session& session, const Request& request);
int run_where(Session& session, const Request& request);
int run_why(Session& session, const Request& request);
int run_why_not(Session& session, const Request& request);
int run_pressure(Session& session, const Request& request);
int run_protection(Session& session, const Request& request);
int run_stuck(Session& session, const Request& request);
int run_matrix(Session& session, const Request& request);
int run_policy(Session& session, const Request& request);
int run_migrate(Session& session, const Request& request);
int run_drain_plan(Session& session, const Request& request);
int run_baseline(Session& session, const Request& request);
int run_upgrade_impact(Session& session, const Request& request);
int run_compare(Session& session, const Request& request);
int run_profile(Session& session, const Request& request);
int run_labels(Session& session, const Request& request);
int run_debug(Session& session, const Request& request);
int run_completion(Session& session, const Request& request);

}  // namespace scout::cli
