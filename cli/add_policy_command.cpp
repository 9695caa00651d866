// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/add_commands.h"
#include "cli/tune.h"

namespace scout::cli {
namespace {

/// CLI11 takes an optional for a counter, and sets it to 0 where nothing is said.
void add_choice(CLI::App& policy, const char* name, std::optional<bool>& target, const char* text) {
    policy.add_flag_function(name, [&target](std::int64_t said) { target = said > 0; }, text);
}

void add_tune_fields(CLI::App& policy, TuneRequest& tune) {
    policy
        .add_option("--bandwidth", tune.bandwidth,
                    "tune: bytes per second of one migration, as 512Mi; 0 is no limit")
        ->type_name("QUANTITY");
    policy
        .add_option("--completion-timeout", tune.completion_seconds_per_gib,
                    "tune: seconds for each GiB of memory until a migration is over time")
        ->type_name("SECONDS");
    add_choice(policy, "--auto-converge", tune.auto_converge,
               "tune: slow guests down that write too fast (=false: do not)");
    add_choice(policy, "--post-copy", tune.post_copy,
               "tune: switch over when it is over time (=false: do not)");
    add_choice(policy, "--workload-disruption", tune.workload_disruption,
               "tune: pause guests when it is over time (=false: do not)");
}

void add_tune_options(CLI::App& policy, TuneRequest& tune) {
    policy.add_option("--for", tune.lasts, "tune: how long it lasts, 1m to 7d")
        ->type_name("DURATION");
    policy.add_option("-n,--namespace", tune.space, "tune: for the VMs in there")
        ->type_name("NAME");
    policy
        .add_option("--namespace-selector", tune.space_selector,
                    "tune: for the VMs in namespaces with these labels, KEY=VALUE,…")
        ->type_name("LABELS");
    policy
        .add_option("-l,--selector", tune.selector,
                    "tune: for the VMs with these labels, KEY=VALUE,…")
        ->type_name("LABELS");
    policy.add_flag("--all", tune.all, "tune: for all VMs");
    add_tune_fields(policy, tune);
    policy
        .add_option("--name", tune.name,
                    "tune: of the policy (default: virt-scout-tune- and the time)")
        ->type_name("NAME");
    policy.add_flag("--dry-run", tune.dry_run, "tune: make nothing, say what it would be for");
    policy.add_flag("--without-aggregator", tune.without_aggregator,
                    "tune: make it also where no aggregator would end it");
    policy.add_flag("--list", tune.list, "tune: those that there are, and when they end");
    policy.add_option("--end", tune.end, "tune: remove one now")->type_name("NAME");
}

}  // namespace

void add_policy_command(CLI::App& app, Request& request) {
    auto& policy = add_command(
        app, request,
        {"policy",
         "say by which MigrationPolicy and numbers a VM would be migrated, what is wrong with "
         "policies (lint), or change them for a while (tune)",
         run_policy,
         "  scoutctl policy shop/web-2 --live\n  scoutctl policy web-2 --from must-gather/ -o "
         "json\n"
         "  scoutctl policy lint policies/\n  scoutctl policy lint --cluster\n"
         "  scoutctl policy tune shop/web-2 --for 2h --post-copy --dry-run\n"
         "  scoutctl policy tune --namespace shop --for 8h --bandwidth 512Mi\n"
         "  scoutctl policy tune --list\n"});
    policy
        .add_option("VM", request.subject,
                    "a VM, NAMESPACE/NAME or a name that only one has; or the word lint or tune")
        ->required();
    policy
        .add_option("MANIFESTS", request.items, "lint: files and folders of manifests; tune: a VM")
        ->type_name("FILE|DIR");
    add_dump_options(policy, request);
    policy.add_flag("--cluster", request.dump.live,
                    "lint: the policies that the cluster has, as --live");
    add_tune_options(policy, request.tune);
    policy.parse_complete_callback([&request] {
        // Only the API server makes policies.
        request.dump.live =
            request.dump.live || (request.subject == tune_word && request.dump.paths.empty());
    });
}

}  // namespace scout::cli
