// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include "base/duration.h"
#include "cli/api_server.h"
#include "cli/request.h"
#include "cli/run_task.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/tune.h"
#include "cluster/tune_calls.h"
#include "cluster/vm_placement.h"
#include "kube/resource.h"
#include "migration/label_syntax.h"

/// A policy with an expiry: `policy tune`.
namespace scout::cli {
namespace {

using namespace std::chrono_literals;
using cluster::TunePlan;

constexpr const char* command = "policy tune";
constexpr std::chrono::milliseconds least = 1min;
constexpr std::chrono::milliseconds most = std::chrono::hours{24 * 7};
constexpr const char* space_label = "kubernetes.io/metadata.name";

Status expect(bool holds, const std::string& what) {
    return holds ? Status{} : fail(Errc::invalid, std::string{command} + ": expected " + what);
}

bool names_field(const TuneRequest& tune) {
    return !tune.bandwidth.empty() || tune.completion_seconds_per_gib || tune.auto_converge ||
           tune.post_copy || tune.workload_disruption;
}

Status check_fields(const TuneRequest& tune) {
    if (auto named = expect(names_field(tune),
                            "a field to set: --bandwidth, --completion-timeout, --auto-converge, "
                            "--post-copy or --workload-disruption");
        !named) {
        return named;
    }
    return expect(tune.completion_seconds_per_gib.value_or(0) >= 0,
                  "--completion-timeout of 0 seconds or more, found " +
                      std::to_string(tune.completion_seconds_per_gib.value_or(0)));
}

Status check_choice(const Request& request) {
    const auto& tune = request.tune;
    const bool by_labels =
        !tune.space.empty() || !tune.space_selector.empty() || !tune.selector.empty();
    const int ways = (request.items.empty() ? 0 : 1) + (tune.all ? 1 : 0) + (by_labels ? 1 : 0);
    return expect(
        ways == 1 && request.items.size() <= 1,
        "for whom: one VM, or --namespace, --namespace-selector and --selector, or --all");
}

Result<std::chrono::milliseconds> lasting(const TuneRequest& tune) {
    if (auto given = expect(!tune.lasts.empty(), "--for with how long it lasts, as 2h"); !given) {
        return fail(std::move(given.error()));
    }
    auto lasts = parse_duration(tune.lasts);
    if (!lasts) {
        return fail(std::move(lasts.error()).within("policy tune --for"));
    }
    if (auto fits = expect(*lasts >= least && *lasts <= most,
                           "--for from 1m to 7d, found " + shown(tune.lasts));
        !fits) {
        return fail(std::move(fits.error()));
    }
    return lasts;
}

Status check_name(const std::string& name) {
    const bool fits = name.empty() ||
                      (migration::is_dns_subdomain(name) && !name.starts_with("virt-scout-move-"));
    return expect(fits, std::string{"--name to be "} + std::string{migration::dns_subdomain_rule} +
                            ", which does not begin with virt-scout-move-, found '" + shown(name) +
                            "'");
}

/// "k=v,l=w": policies choose by no more than that.
Result<migration::Labels> read_labels(const char* option, std::string_view text) {
    migration::Labels labels;
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, end);
        const auto equals = std::min(pair.find('='), pair.size());
        const auto key = pair.substr(0, equals);
        const auto value = pair.substr(std::min(equals + 1, pair.size()));
        if (equals == pair.size() || !migration::is_label_key(key) ||
            !migration::is_label_value(value)) {
            return fail(Errc::invalid, std::string{command} + " " + option +
                                           ": expected labels KEY=VALUE with commas between, for "
                                           "policies choose by exact values alone, found '" +
                                           shown(pair) + "'");
        }
        labels.insert_or_assign(std::string{key}, std::string{value});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return labels;
}

Result<cluster::TuneChoice> by_labels(const TuneRequest& tune) {
    auto space = read_labels("--namespace-selector", tune.space_selector);
    auto vmi = read_labels("--selector", tune.selector);
    if (!space || !vmi) {
        return fail(space ? vmi.error() : space.error());
    }
    if (!tune.space.empty()) {
        space->insert_or_assign(space_label, tune.space);
    }
    return cluster::TuneChoice{.selectors = {.space = *std::move(space), .vmi = *std::move(vmi)},
                               .note = {}};
}

Result<cluster::TuneChoice> choice(const Request& request, const cluster::Objects& objects) {
    if (request.items.empty()) {
        return by_labels(request.tune);
    }
    const auto vmi = cluster::find_vmi(objects, request.items.front());
    if (!vmi) {
        return fail(vmi.error());
    }
    return cluster::choose_alone(objects, **vmi);
}

std::string name_of(const TuneRequest& tune, WallTime now) {
    return tune.name.empty() ? fmt::format("virt-scout-tune-{:%Y%m%d-%H%M%S}",
                                           std::chrono::floor<std::chrono::seconds>(now))
                             : tune.name;
}

Result<TunePlan> plan(const Request& request, const cluster::Objects& objects, WallTime now) {
    const auto& tune = request.tune;
    auto chosen = choice(request, objects);
    if (!chosen) {
        return fail(std::move(chosen.error()));
    }
    auto planned = cluster::plan_tune(
        objects, {.name = name_of(tune, now),
                  .selectors = std::move(chosen->selectors),
                  .fields = {.bandwidth = tune.bandwidth,
                             .completion_seconds_per_gib = tune.completion_seconds_per_gib,
                             .auto_converge = tune.auto_converge,
                             .post_copy = tune.post_copy,
                             .workload_disruption = tune.workload_disruption}});
    if (planned && !chosen->note.empty()) {
        planned->notes.insert(planned->notes.begin(), std::move(chosen->note));
    }
    return planned;
}

/// Without one of these it would be said wrongly whom the policy is for.
Status ensure_whole(const cluster::Dump& dump) {
    using namespace kube::resources;
    const std::array needed{virtual_machine_instances(), namespaces(), migration_policies()};
    for (const auto& gap : dump.left_out) {
        for (const auto& kind : needed) {
            if (gap.place == kube::display_name(kind)) {
                return fail(Errc::refused,
                            "expected all " + gap.place + " to be readable, found: " + gap.reason);
            }
        }
    }
    return {};
}

Status ensure_ended(ApiServer& server, cluster::TuneCalls& calls) {
    const auto ended = run_task(server.loop, calls.is_ended_by_itself());
    if (!ended) {
        return fail(Error{ended.error().error}.within(
            "whether an aggregator would end it (--without-aggregator asks none)"));
    }
    if (!*ended) {
        return fail(Errc::refused,
                    "expected an aggregator of virt-scout 0.3.0 or later in the cluster, which "
                    "ends the policy, found none that answers at query.virt-scout.io "
                    "(daemonset/query-api): the policy would stay for ever; --without-aggregator "
                    "makes it all the same, and 'policy "
                    "tune --end' ends it");
    }
    return {};
}

int make_tune(Session& session, const Request& request, TuneAnswer answer) {
    const auto& tune = request.tune;
    const auto access = access_to_change(request.dump.access);
    if (!access) {
        return session.fail_with(Error{access.error()}.within(command));
    }
    // Before anything is made, where somebody reads along.
    if (session.for_people() && session.show(answer) != exit_code::can) {
        return exit_code::error;
    }
    ApiServer server(*access, session.clock());
    cluster::TuneCalls calls(server.client);
    if (!tune.without_aggregator) {
        if (auto ended = ensure_ended(server, calls); !ended) {
            return session.fail_with(std::move(ended.error()).within(command));
        }
    }
    const auto made = run_task(server.loop, calls.make(answer.plan, answer.ends, tune.dry_run));
    if (!made) {
        return session.fail_with(Error{made.error().error}.within(command));
    }
    (tune.dry_run ? answer.rehearsed : answer.made) = true;
    return session.show(answer);
}

int end_tune(Session& session, const Request& request) {
    const auto access = access_to_change(request.dump.access);
    if (!access) {
        return session.fail_with(Error{access.error()}.within(command));
    }
    ApiServer server(*access, session.clock());
    cluster::TuneCalls calls(server.client);
    const auto ended = run_task(server.loop, calls.end(request.tune.end));
    if (!ended) {
        return session.fail_with(Error{ended.error().error}.within("policy tune --end"));
    }
    return session.show(EndedTune{.policy = request.tune.end});
}

Status check(const Request& request) {
    const auto& tune = request.tune;
    const bool dump = !request.dump.paths.empty();
    if (!tune.end.empty() || tune.list) {
        auto alone = tune;
        alone.end.clear();
        alone.list = false;
        const bool one = tune.end.empty() || !tune.list;
        return expect(
            one && request.items.empty() && alone == TuneRequest{} && (tune.list || !dump),
            "--end NAME or --list alone, found other options beside it");
    }
    for (const auto& checked :
         {check_choice(request), check_fields(tune), check_name(tune.name),
          expect(tune.dry_run || !dump,
                 "--dry-run beside --from: in a dump no policy can be made")}) {
        if (!checked) {
            return checked;
        }
    }
    return {};
}

/// The moment that what is shown is of.
WallTime moment(const Session& session, const cluster::Dump& dump) {
    return session.asks_live() ? session.clock().wall() : dump.moment;
}

int make_planned(Session& session, const Request& request, const cluster::Dump& dump,
                 std::chrono::milliseconds lasts) {
    const auto now = std::chrono::floor<std::chrono::seconds>(moment(session, dump));
    auto planned = plan(request, dump.objects, now);
    if (!planned) {
        return session.fail_with(std::move(planned.error()).within(command));
    }
    TuneAnswer answer{.plan = *std::move(planned), .ends = now + lasts};
    if (answer.plan.vms.empty()) {
        return session.show(answer, exit_code::cannot);
    }
    return session.asks_live() ? make_tune(session, request, std::move(answer))
                               : session.show(answer);
}

}  // namespace

int run_tune(Session& session, const Request& request) {
    if (auto checked = check(request); !checked) {
        return session.fail_with(checked.error());
    }
    const auto& tune = request.tune;
    if (!tune.end.empty()) {
        return end_tune(session, request);
    }
    std::chrono::milliseconds lasts{0};
    if (!tune.list) {
        const auto asked = lasting(tune);
        if (!asked) {
            return session.fail_with(asked.error());
        }
        lasts = *asked;
    }
    const auto dump = session.objects_and_gaps();
    if (!dump) {
        return session.fail_with(Error{dump.error()}.within(command));
    }
    if (auto whole = ensure_whole(*dump); !whole) {
        return session.fail_with(std::move(whole.error()).within(command));
    }
    if (tune.list) {
        return session.show(TunedListing{.policies = cluster::tuned_policies(dump->objects),
                                         .now = moment(session, *dump)});
    }
    return make_planned(session, request, *dump, lasts);
}

}  // namespace scout::cli
