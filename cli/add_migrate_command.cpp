// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/add_commands.h"

namespace scout::cli {

void add_migrate_command(CLI::App& app, Request& request) {
    auto& migrate = add_command(
        app, request,
        {"migrate", "move a VM, or say what would become of that (--dry-run)", run_migrate,
         "  scoutctl migrate shop/web-2 --to n2 --wait\n"
         "  scoutctl migrate shop/web-2 --cancel\n"
         "  scoutctl migrate shop/web-2 --to n2 --dry-run --live\n"
         "  scoutctl migrate -f move.yaml --dry-run --from must-gather/ -o json\n"
         "  scoutctl migrate web-2 --dry-run --from must-gather/\n"
         "  scoutctl migrate web-2 --where kubernetes.io/arch=amd64 --dry-run --from "
         "must-gather/\n"});
    auto& move = request.move;
    migrate.add_option("VM", request.subject,
                       "a VM, NAMESPACE/NAME or a name that only one has; or -f");
    migrate
        .add_option("-f,--filename", move.manifest,
                    "a VirtualMachineInstanceMigration, YAML or JSON; - is standard input")
        ->type_name("FILE|-");
    migrate.add_option("--to", move.to, "only to this node")->type_name("NODE");
    migrate
        .add_option("--where", move.where,
                    "only to nodes with these labels, as kubectl has selectors: 'disktype=ssd,zone "
                    "in (a,b)'; also !=, notin, KEY, !KEY, KEY>N, KEY<N")
        ->type_name("LABELS");
    migrate.add_flag("--dry-run", move.dry_run, "make nothing, say what would become of it");
    migrate.add_flag("--wait", move.wait, "then follow it to its end; Ctrl-C leaves it running");
    migrate.add_flag("--cancel", move.cancel, "take back the migrations of the VM that go on");
    add_dump_options(migrate, request);
    migrate.parse_complete_callback([&request] {
        // Only the API server makes migrations.
        request.dump.live =
            request.dump.live || (!request.move.dry_run && request.dump.paths.empty());
    });
}

}  // namespace scout::cli
