// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/add_commands.h"

namespace scout::cli {
namespace {

void add_moment_option(CLI::App& command, Request& request) {
    command
        .add_option("--at", request.at,
                    "judge for this moment (default: of a dump the latest that its objects speak "
                    "of, else now)")
        ->type_name("RFC3339");
}

}  // namespace

void add_record_commands(CLI::App& app, Request& request) {
    auto& why = add_command(
        app, request,
        {"why", "say what ended a VM's launcher, and who wanted the VM's migrations", run_why,
         "  scoutctl why shop/web-2 --aggregator kube:\n  scoutctl why shop/web-2 --live\n"
         "  scoutctl why shop/web-2 --from must-gather/\n"
         "  scoutctl why web-2 --from must-gather/ -o json\n"});
    why.add_option("VM", request.subject,
                   "a VM or one of its launcher pods, NAMESPACE/NAME or a name that only one has")
        ->required();
    add_dump_options(why, request);
    auto& stuck = add_command(
        app, request,
        {"stuck", "list marks to be evacuated and migrations that got stuck, and what to do",
         run_stuck,
         "  scoutctl stuck --live\n  scoutctl stuck --from must-gather/\n"
         "  scoutctl stuck --from must-gather/ --at 2026-11-27T23:06:39Z -o json\n"});
    add_dump_options(stuck, request);
    add_moment_option(stuck, request);
}

}  // namespace scout::cli
