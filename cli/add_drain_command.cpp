// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/add_commands.h"

namespace scout::cli {

void add_drain_command(CLI::App& app, Request& request) {
    auto& drain = add_command(
        app, request,
        {"drain-plan",
         "say which VMs of a node can leave it by live migration, where to, in which order, how "
         "long it takes, and which cannot and why",
         run_drain_plan,
         "  scoutctl drain-plan n1 --live\n  scoutctl drain-plan n1 --from must-gather/ -o "
         "json\n"});
    drain.add_option("NODE", request.subject, "the node that is to be emptied")->required();
    add_dump_options(drain, request);
}

}  // namespace scout::cli
