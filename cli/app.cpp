// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/version.h"
#include "cli/add_commands.h"
#include "cli/command_line.h"
#include "cli/request.h"
#include "cli/text.h"

namespace scout::cli {
namespace {

constexpr const char* description =
    "scoutctl asks where guests can live-migrate, and why not.\n"
    "compare, profile and labels work on documents of libvirt alone; why, stuck and migrate read "
    "a\n"
    "cluster (--live) or a dump of one (--from); nodes, node, guests, protection, pressure, where, "
    "why-not,\n"
    "matrix, baseline and upgrade-impact do so too where they are told to, and ask an aggregator "
    "else.";

/// Options of every command; they may stand before or behind its name.
void add_global_options(CLI::App& app, Request& request) {
    auto& flags = request.flags;
    app.add_option("-o,--output", flags.output, "how to write the answer")
        ->type_name("table|wide|json|yaml");
    app.add_option("--cpu-map", flags.cpu_map,
                   "libvirt's cpu_map folder (default: the configured one, else "
                   "/usr/share/libvirt/cpu_map)")
        ->type_name("DIR");
    app.add_option("--config", request.config,
                   "settings (default: ~/.config/virt-scout/config.yaml)")
        ->type_name("FILE");
    app.add_option("--aggregator,--aggregator-address", flags.aggregator,
                   std::string("unix:/path or host:port (default: ") + default_aggregator +
                       "), or kube: for that of a cluster, through its API server (default of "
                       "kubectl-scout)")
        ->type_name("ADDRESS");
    app.add_option("--deadline", flags.deadline, "longest wait for the aggregator (default: 10s)")
        ->type_name("TIME");
    app.add_option("--tls-ca", flags.tls_ca, "CA of the aggregator, PEM")->type_name("FILE");
    app.add_option("--tls-cert", flags.tls_cert, "own certificate, PEM")->type_name("FILE");
    app.add_option("--tls-key", flags.tls_key, "own key, PEM")->type_name("FILE");
    app.add_option("--tls-server-name", flags.server_name,
                   "name expected in the aggregator's certificate, if not the host's")
        ->type_name("NAME");
    app.add_flag_callback(
        "--plaintext", [&flags] { flags.plaintext = true; },
        "no TLS; only for addresses of this machine");
}

void add_machine_option(CLI::App& command, Request& request) {
    command
        .add_option(
            "--machine-type", request.dump.machine_type,
            "with --from or --live: judge host-model guests for this machine type (default: the "
            "ScoutConfig's, else the cluster's)")
        ->type_name("TYPE");
}

/// Of these, those that show levels.
void add_judging_options(CLI::App& command, Request& request) {
    add_machine_option(command, request);
    command
        .add_option(
            "--layer", request.dump.layer,
            "with --from or --live: layer that levels and destinations are of (default: the "
            "ScoutConfig's, else stock)")
        ->type_name("stock|truth");
}

void add_fleet_commands(CLI::App& app, Request& request) {
    auto& nodes = add_command(
        app, request,
        {"nodes", "list the nodes, how fresh they are and where their guests could go", run_nodes,
         "  scoutctl nodes\n  scoutctl nodes -o json | jq '.nodes[].level'\n"
         "  scoutctl nodes --from must-gather/\n  scoutctl nodes --live --context prod\n"});
    add_dump_options(nodes, request);
    add_judging_options(nodes, request);
    auto& node = add_command(app, request,
                             {"node", "show what one node can run", run_node,
                              "  scoutctl node n1\n  scoutctl node n1 -o wide\n"});
    node.add_option("NAME", request.subject, "name of the node")->required();
    add_dump_options(node, request);
    add_judging_options(node, request);
    auto& guests =
        add_command(app, request,
                    {"guests", "list the guests, or follow what happens to them", run_guests,
                     "  scoutctl guests --node n1\n  scoutctl guests --watch -o json\n"});
    guests.add_option("--node", request.node, "only guests of this node")->type_name("NAME");
    guests.add_flag("--watch", request.watch, "then write a line for every change, until stopped");
    add_dump_options(guests, request);
    auto& protection = add_command(
        app, request,
        {"protection", "say which VMs would be moved if their node told them to stop, and why not",
         run_protection,
         "  scoutctl protection --live\n  scoutctl protection shop/web-2 --from must-gather/\n"
         "  scoutctl protection --node n1 --from must-gather/ -o json\n"});
    protection.add_option("VM", request.items, "VMs, NAMESPACE/NAME (default: all that run)")
        ->type_name("VM");
    protection.add_option("--node", request.node, "only VMs of this node")->type_name("NAME");
    add_dump_options(protection, request);
    auto& pressure = add_command(
        app, request,
        {"pressure", "say how near the nodes are to evicting pods, and which VMs would go first",
         run_pressure,
         "  scoutctl pressure\n  scoutctl pressure n1 n2 -o json\n"
         "  scoutctl pressure --from must-gather/\n"});
    pressure.add_option("NODE", request.items, "nodes (default: all)")->type_name("NODE");
    add_dump_options(pressure, request);
}

void add_question_commands(CLI::App& app, Request& request) {
    auto& where = add_command(app, request,
                              {"where", "say where a guest can go", run_where,
                               "  scoutctl where vm-7\n  scoutctl where host-model@n1\n"
                               "  scoutctl where vm-7.xml --on hosts/\n"
                               "  scoutctl where shop/web-2 --from must-gather/\n"});
    where
        .add_option("SUBJECT", request.subject,
                    "a guest's name or UUID, NAMESPACE/NAME of a VMI, guest/NAME@NODE, "
                    "host-model@NODE (a host-model guest that would start there), file:PATH or a "
                    "path (live domain XML or a host's document)")
        ->required();
    where.add_option("--on", request.on, "ask these hosts' documents instead of the aggregator")
        ->type_name("FILE|DIR");
    add_dump_options(where, request);
    add_machine_option(where, request);
    auto& why_not = add_command(app, request,
                                {"why-not", "say why a guest cannot go to one node", run_why_not,
                                 "  scoutctl why-not vm-7 n2\n"
                                 "  scoutctl why-not vm-7.xml n2-domcapabilities.xml\n"});
    why_not.add_option("SUBJECT", request.subject, "as for where")->required();
    why_not.add_option("TARGET", request.target, "a node, or a host's document")->required();
    add_dump_options(why_not, request);
    add_machine_option(why_not, request);
    auto& matrix =
        add_command(app, request,
                    {"matrix", "show for every node where its host-model guests can go", run_matrix,
                     "  scoutctl matrix\n  scoutctl matrix --documents hosts/\n"
                     "  scoutctl matrix --from must-gather/ -o json\n"});
    matrix.add_option("--documents", request.documents, "these hosts' documents instead")
        ->type_name("FILE|DIR");
    add_dump_options(matrix, request);
    add_judging_options(matrix, request);
}

void add_host_commands(CLI::App& app, Request& request) {
    auto& baseline = add_command(
        app, request,
        {"baseline", "find the best CPU that all of a set can run (no argument: every node)",
         run_baseline, "  scoutctl baseline n1 n2 n3\n  scoutctl baseline hosts/ -o yaml\n"});
    baseline.add_option("NODES", request.items, "nodes, or files and folders of documents")
        ->type_name("NODE|FILE|DIR");
    add_dump_options(baseline, request);
    auto& impact = add_command(
        app, request,
        {"upgrade-impact", "say what an upgrade of a host means for its guests", run_upgrade_impact,
         "  scoutctl upgrade-impact n1\n"
         "  scoutctl upgrade-impact --before old.xml --after new.xml\n"});
    impact.add_option("NODE", request.subject, "node whose profile changed");
    impact.add_option("--before", request.before, "document before; - is standard input")
        ->type_name("FILE|DIR|-");
    impact.add_option("--after", request.after, "document after")->type_name("FILE|DIR|-");
    add_dump_options(impact, request);
    add_machine_option(impact, request);
}

void add_compare_command(CLI::App& app, Request& request) {
    auto& compare = add_command(
        app, request,
        {"compare", "compare two documents: can a guest of A run on B?", run_compare,
         "  scoutctl compare n1.xml n2.xml\n  scoutctl compare vm-7.xml n2.xml -o json\n"
         "  scoutctl compare --all hosts/\n"});
    compare
        .add_option("A", request.subject,
                    "document of the guest's side: domain capabilities, a host-model <cpu>, "
                    "a labeller folder, or a live domain XML; - is standard input")
        ->type_name("FILE|DIR|-");
    compare
        .add_option("B", request.target,
                    "document of the target, the same kinds but no live domain")
        ->type_name("FILE|DIR|-");
    compare.add_option("--all", request.all, "every pair of the documents in this folder")
        ->type_name("DIR");
}

void add_single_document_commands(CLI::App& app, Request& request) {
    auto& profile =
        add_command(app, request,
                    {"profile", "show what a host can run, from its documents", run_profile,
                     "  virsh domcapabilities | scoutctl profile -\n"
                     "  scoutctl profile /var/lib/kubevirt-node-labeller -o json\n"});
    profile
        .add_option("DOCUMENT", request.subject, "document or labeller folder; - is standard input")
        ->required()
        ->type_name("FILE|DIR|-");
    auto& labels = add_command(
        app, request,
        {"labels",
         "show the node labels that KubeVirt would write for a host, or check those of nodes",
         run_labels,
         "  scoutctl labels host.xml\n"
         "  scoutctl labels host.xml --obsolete-cpu-models Conroe,Penryn\n"
         "  scoutctl labels --check --from must-gather/\n"});
    labels
        .add_option("DOCUMENT", request.subject, "document or labeller folder; - is standard input")
        ->type_name("FILE|DIR|-");
    labels.add_flag("--check", request.check,
                    "with --from or --live: hold the labels of each node against the rules");
    add_dump_options(labels, request);
    labels
        .add_option("--obsolete-cpu-models", request.obsolete_models,
                    "keys of the KubeVirt CR's obsoleteCPUModels, with commas (default: KubeVirt's "
                    "built-in list, which makes no host-model obsolete)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NAMES");
}

void add_debug_command(CLI::App& app, Request& request) {
    auto& debug = add_command(
        app, request,
        {"debug", "watch: show what happens to objects of a cluster, as our informers see it",
         run_debug,
         "  scoutctl debug watch nodes -o json\n"
         "  scoutctl debug watch vmis --namespace shop --until-synced\n"
         "  scoutctl debug watch deployments.v1.apps --context prod\n"});
    debug.add_option("WHAT", request.subject, "watch")->required()->type_name("watch");
    debug
        .add_option("KIND", request.target,
                    "nodes, pods, launchers, vmis, vmims, kubevirts, leases, events, crds, or "
                    "PLURAL.VERSION.GROUP of any kind")
        ->required();
    auto& watch = request.watch_of;
    add_access_options(debug, watch.access);
    debug.add_option("-n,--namespace", watch.space, "only objects in there")->type_name("NAME");
    debug.add_option("-l,--selector", watch.labels, "only objects with these labels")
        ->type_name("LABELS");
    debug.add_option("--field-selector", watch.fields, "only objects with these fields")
        ->type_name("FIELDS");
    debug.add_flag("--until-synced", watch.until_synced, "end when all that is there was told");
}

void add_completion_command(CLI::App& app, Request& request) {
    auto& completion =
        add_command(app, request,
                    {"completion", "write a completion script for a shell", run_completion,
                     "  source <(scoutctl completion bash)\n"
                     "  scoutctl completion fish | source\n"});
    completion.add_option("SHELL", request.subject, "which shell")
        ->required()
        ->type_name("bash|zsh|fish");
}

/// Help, version or a fault of the command line.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error,
                   const Surroundings& surroundings) {
    if (error.get_exit_code() == 0) {
        const auto* help = dynamic_cast<const CLI::CallForHelp*>(&error);
        const auto chosen = app.get_subcommands();
        const auto& asked = chosen.empty() ? app : *chosen.front();
        const auto text = help != nullptr ? asked.help(&asked == &app ? "" : app.get_name())
                                          : std::string(error.what()) + "\n";
        if (!surroundings.write(text)) {
            surroundings.tell(cannot_write);
            return exit_code::error;
        }
        return exit_code::can;
    }
    const auto chosen = app.get_subcommands();
    const auto name = chosen.empty() ? std::string{} : " " + chosen.front()->get_name();
    surroundings.tell("scoutctl: " + fault_text(app, error) + "; see 'scoutctl" + name +
                      " --help'");
    return exit_code::error;
}

/// `kubectl scout` runs the program of this name.
bool is_plugin(std::string_view program) {
    return program.substr(program.rfind('/') + 1) == "kubectl-scout";
}

/// Settings of flags and file, with the format that they choose.
Result<std::pair<Settings, Format>> settle(const Request& request) {
    auto file = read_settings(request.config);
    if (!file) {
        return fail(std::move(file.error()));
    }
    auto settings = merge(request.flags, std::move(*file));
    auto format = parse_format(settings.output.value_or("table"));
    if (!format) {
        return fail(std::move(format.error()));
    }
    if (settings.deadline) {
        if (auto deadline = parse_deadline(*settings.deadline); !deadline) {
            return fail(std::move(deadline.error()));
        }
    }
    return std::pair{std::move(settings), *format};
}

}  // namespace

std::unique_ptr<CLI::App> make_app(Request& request) {
    auto app = std::make_unique<CLI::App>(description, "scoutctl");
    app->set_version_flag("--version",
                          std::string("scoutctl ") + version + " (commit " + commit + ")");
    app->fallthrough();
    app->require_subcommand(1);
    app->footer(std::string("'scoutctl COMMAND --help' shows examples.\n\n") + exit_codes);
    add_global_options(*app, request);
    add_fleet_commands(*app, request);
    add_question_commands(*app, request);
    add_record_commands(*app, request);
    add_policy_command(*app, request);
    add_migrate_command(*app, request);
    add_drain_command(*app, request);
    add_host_commands(*app, request);
    add_compare_command(*app, request);
    add_single_document_commands(*app, request);
    add_debug_command(*app, request);
    add_completion_command(*app, request);
    return app;
}

int run(int argc, const char* const* argv, Surroundings surroundings) {
    Request request;
    const auto app = make_app(request);
    auto fault = option_without_value({argv, static_cast<std::size_t>(argc)});
    try {
        if (!fault) {
            app->parse(argc, argv);
            fault = empty_value(*app);
        }
    } catch (const CLI::ParseError& error) {
        return end_of_parsing(*app, error, surroundings);
    }
    if (fault) {
        surroundings.tell("scoutctl: " + *fault + "; see 'scoutctl --help'");
        return exit_code::error;
    }
    auto settled = settle(request);
    if (!settled) {
        surroundings.tell("scoutctl: " + shown(settled.error().message));
        return exit_code::error;
    }
    if (!settled->first.aggregator && argc > 0 && is_plugin(argv[0])) {
        settled->first.aggregator = cluster_aggregator;
    }
    Session session(std::move(settled->first), settled->second, std::move(surroundings),
                    request.dump);
    return request.handler(session, request);
}

}  // namespace scout::cli
