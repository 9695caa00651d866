// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/add_commands.h"

namespace scout::cli {

void add_policy_command(CLI::App& app, Request& request) {
    auto& policy = add_command(
        app, request,
        {"policy",
         "say by which MigrationPolicy and numbers a VM would be migrated, or what is wrong with "
         "policies (lint)",
         run_policy,
         "  scoutctl policy shop/web-2 --live\n  scoutctl policy web-2 --from must-gather/ -o "
         "json\n"
         "  scoutctl policy lint policies/\n  scoutctl policy lint --cluster\n"});
    policy
        .add_option("VM", request.subject,
                    "a VM, NAMESPACE/NAME or a name that only one has; or the word lint")
        ->required();
    policy.add_option("MANIFESTS", request.items, "lint: files and folders of manifests")
        ->type_name("FILE|DIR");
    add_dump_options(policy, request);
    policy.add_flag("--cluster", request.dump.live,
                    "lint: the policies that the cluster has, as --live");
}

}  // namespace scout::cli
