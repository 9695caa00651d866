// SPDX-License-Identifier: Apache-2.0
#include "aggregator/tuned_policies.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/logging.h"
#include "cluster/tuned_policy.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

/// The wall clock may be set meanwhile.
constexpr std::chrono::milliseconds longest_rest = 1min;
/// One that was not removed; also until a removal is seen.
constexpr std::chrono::milliseconds tried_again_after = 10s;
constexpr std::chrono::milliseconds remove_limit = 10s;

}  // namespace

TunedPolicies::TunedPolicies(const asio::any_io_executor& loop, Sources sources,
                             kube::Client& client, const Clock& clock)
    : sources_(sources), client_(client), clock_(clock), alarm_(loop) {
    sources_.policies.on_change([this](const auto& change) {
        if (!change.now) {
            removed_.erase(change.before->meta.uid);
        }
        alarm_.ring();
    });
    sources_.policies.on_synced([this] { alarm_.ring(); });
    sources_.elector.on_change([this](bool /*leads*/) { alarm_.ring(); });
}

Task<> TunedPolicies::run() {
    for (;;) {
        auto rest = longest_rest;
        if (sources_.elector.leads() && sources_.policies.synced()) {
            auto round = look();
            rest = round.rest;
            tell_unreadable(round.unreadable);
            for (auto& policy : round.over) {
                co_await remove(std::move(policy));
            }
        }
        const bool goes_on = co_await alarm_.wait(rest);
        if (!goes_on) {
            co_return;
        }
    }
}

TunedPolicies::Round TunedPolicies::look() const {
    const auto now = clock_.wall();
    Round round{.over = {}, .unreadable = {}, .rest = longest_rest};
    sources_.policies.each([this, &round, now](const Policy& policy) {
        if (removed_.contains(policy->meta.uid)) {
            return;
        }
        switch (cluster::tune_state(*policy, now)) {
            case cluster::TuneState::other:
                break;
            case cluster::TuneState::runs:
                round.rest = std::min(round.rest, cluster::tune_end(*policy).value_or(now) - now);
                break;
            case cluster::TuneState::over:
                round.over.push_back(policy);
                round.rest = std::min(round.rest, tried_again_after);
                break;
            case cluster::TuneState::unreadable:
                round.unreadable.push_back(policy);
                break;
        }
    });
    return round;
}

/// As it was judged, or not at all: somebody may have given it more time.
Task<> TunedPolicies::remove(Policy policy) {
    const auto options = leader_call(sources_.elector.may_write_for(), remove_limit);
    if (!options) {
        co_return;
    }
    kube::Target target{.resource = kube::resources::migration_policies(),
                        .object = {.space = {}, .name = policy->meta.name}};
    kube::Preconditions same{.uid = policy->meta.uid, .resource_version = policy->meta.version};
    const auto answer = co_await client_.remove(std::move(target), std::move(same), *options);
    if (answer) {
        removed_.insert(policy->meta.uid);
        spdlog::info("a tuned migration policy is removed, its time is over policy={} expired={}",
                     log_value(policy->meta.name), log_value(policy->expires));
        tell(*policy, false, "MigrationPolicyExpired",
             "its time was over at " + policy->expires + ": it is removed");
    } else if (answer.error().status != 404 && answer.error().status != 409) {
        spdlog::warn(
            "a tuned migration policy is not removed yet, and tried again policy={} reason={}",
            log_value(policy->meta.name), log_value(answer.error().error.message));
    }
}

void TunedPolicies::tell_unreadable(const std::vector<Policy>& policies) {
    std::set<std::string> now;
    for (const auto& policy : policies) {
        now.insert(policy->meta.uid);
        if (told_.contains(policy->meta.uid)) {
            continue;
        }
        const std::string what = "expected a time such as 2026-11-30T18:00:00Z in the annotation " +
                                 std::string{cluster::expires_annotation} + ", found " +
                                 (policy->expires.empty() ? "none" : log_value(policy->expires)) +
                                 ": it is not removed by itself; set the annotation, or delete "
                                 "the policy";
        spdlog::warn("a tuned migration policy does not end policy={} reason={}",
                     log_value(policy->meta.name), log_value(what));
        tell(*policy, true, "MigrationPolicyNeverExpires", what);
    }
    told_ = std::move(now);
}

void TunedPolicies::tell(const kube::MigrationPolicy& policy, bool warning, std::string reason,
                         std::string note) {
    sources_.events.record({.regarding = {.api_version = "migrations.kubevirt.io/v1alpha1",
                                          .kind = "MigrationPolicy",
                                          .space = {},
                                          .name = policy.meta.name,
                                          .uid = policy.meta.uid},
                            .related = {},
                            .warning = warning,
                            .reason = std::move(reason),
                            .action = "EndPolicy",
                            .note = std::move(note)});
}

}  // namespace scout::aggregator
