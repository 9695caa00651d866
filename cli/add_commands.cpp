// SPDX-License-Identifier: Apache-2.0
#include "cli/add_commands.h"

#include <string>

#include <CLI/CLI.hpp>

namespace scout::cli {

const char* const exit_codes =
    "Exit codes:\n"
    "  0  yes (can migrate, can go somewhere), or the report is written\n"
    "  1  no (cannot migrate, can go nowhere)\n"
    "  2  error: bad arguments, a document that cannot be used, no aggregator\n"
    "  3  cannot be compared: some fact is missing; the reason says which\n";

CLI::App& add_command(CLI::App& app, Request& request, const Command& command) {
    auto* sub = app.add_subcommand(command.name, command.text);
    sub->footer(std::string("Examples:\n") + command.examples +
                "\nOptions of every command, as -o json: 'scoutctl --help'.\n\n" + exit_codes);
    sub->callback([&request, handler = command.handler] { request.handler = handler; });
    return *sub;
}

void add_access_options(CLI::App& command, AccessRequest& access) {
    command
        .add_option("--kubeconfig", access.kubeconfig,
                    "default: KUBECONFIG, ~/.kube/config, the account of this pod")
        ->type_name("FILE");
    command.add_option("--context", access.context, "of the kubeconfig (default: its current one)")
        ->type_name("NAME");
    command.add_flag("--insecure-skip-tls-verify", access.insecure,
                     "obey a kubeconfig that asks for the same");
}

void add_dump_options(CLI::App& command, Request& request) {
    command.add_flag("--live", request.dump.live,
                     "ask the API server instead of the aggregator, as kubectl does and with your "
                     "own rights");
    add_access_options(command, request.dump.access);
    command
        .add_option("--from", request.dump.paths,
                    "a dump of a cluster instead of the aggregator: files and folders of "
                    "Kubernetes objects, YAML or JSON, .gz too (may be given again)")
        ->type_name("FILE|DIR")
        ->allow_extra_args(false);
}

}  // namespace scout::cli
