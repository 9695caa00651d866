// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/cluster_access.h"
#include "cli/request.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}  // namespace CLI

/// Pieces of the command line that several groups of commands share.
namespace scout::cli {

/// The codes of the process as every help shows them.
extern const char* const exit_codes;

struct Command {
    const char* name;
    const char* text;
    Handler handler;
    const char* examples;
};

CLI::App& add_command(CLI::App& app, Request& request, const Command& command);

/// Which cluster is asked itself.
void add_access_options(CLI::App& command, AccessRequest& access);

/// Of commands that answer from the objects of a cluster, live or in a dump.
void add_dump_options(CLI::App& command, Request& request);

/// `stuck` and `why`.
void add_record_commands(CLI::App& app, Request& request);

void add_policy_command(CLI::App& app, Request& request);
void add_drain_command(CLI::App& app, Request& request);

void add_migrate_command(CLI::App& app, Request& request);

}  // namespace scout::cli
