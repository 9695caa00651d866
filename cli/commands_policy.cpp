// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/tune.h"
#include "cluster/policy_answer.h"
#include "cluster/policy_lint.h"
#include "cluster/vm_placement.h"
#include "fleet/dump_fleet.h"

/// What MigrationPolicies do: `policy`.
namespace scout::cli {
namespace {

constexpr const char* lint = "lint";

int show_lint(Session& session, const cluster::PolicyLint& found) {
    const bool refused = std::any_of(
        found.findings.begin(), found.findings.end(),
        [](const auto& finding) { return finding.severity == cluster::LintSeverity::refused; });
    return session.show(found, refused ? exit_code::cannot : exit_code::can);
}

int lint_files(Session& session, const std::vector<std::string>& files) {
    const auto found = [&session, &files] {
        Progress progress("reading manifests", session.progress());
        const auto show = [&progress](std::size_t file, std::size_t all) {
            progress.say("reading manifests: file " + std::to_string(file) + " of " +
                         std::to_string(all));
        };
        return cluster::lint_policy_files({files.begin(), files.end()}, show);
    }();
    if (!found) {
        return session.fail_with(Error{found.error()}.within("policy lint"));
    }
    if (found->policies == 0 && found->findings.empty()) {
        return session.fail_with({Errc::not_found, "policy lint: found no MigrationPolicy in " +
                                                       std::to_string(found->files) + " files"});
    }
    return show_lint(session, *found);
}

int lint_cluster(Session& session) {
    const auto dump = session.objects();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within("policy lint"));
    }
    return show_lint(session, cluster::lint_policies(*dump));
}

int run_lint(Session& session, const Request& request) {
    if (request.items.empty() != session.asks_dump()) {
        return session.fail_with(
            {Errc::invalid,
             "policy lint: expected manifests, or --cluster for the policies that a cluster has"});
    }
    return request.items.empty() ? lint_cluster(session) : lint_files(session, request.items);
}

}  // namespace

int run_policy(Session& session, const Request& request) {
    if (request.subject == tune_word) {
        return run_tune(session, request);
    }
    if (request.tune != TuneRequest{}) {
        return session.fail_with(
            {Errc::invalid, "policy: expected 'policy tune' before options such as --for, found '" +
                                shown(request.subject) + "'"});
    }
    if (request.subject == lint) {
        return run_lint(session, request);
    }
    if (!request.items.empty()) {
        return session.fail_with(
            {Errc::invalid, "policy: expected one VM, or lint and manifests, or tune"});
    }
    const auto objects = session.objects();
    if (!objects) {
        return session.fail_with(Error{objects.error()}.within("policy"));
    }
    const auto vmi = cluster::find_vmi(*objects, request.subject);
    if (!vmi) {
        return session.fail_with(vmi.error());
    }
    const auto answer = cluster::policy_answer(*objects, **vmi);
    return session.show(answer, answer.uncertain ? exit_code::unknown : exit_code::can);
}

}  // namespace scout::cli
