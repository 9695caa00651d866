// SPDX-License-Identifier: Apache-2.0
#include "aggregator/policy_drift.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "cluster/migration_numbers.h"
#include "cluster/object_references.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

/// Whichever of two policies was there first then cannot be told.
constexpr auto changed_before = 10s;
constexpr auto until_rung = 1h;
/// A cluster hands five off at once, or some dozens.
constexpr std::size_t most_waiting = 1000;

/// The migration that was handed off; empty: none.
std::string_view handed_off(const kube::Vmi& vmi) {
    const auto& migration = vmi.migration;
    return migration ? std::string_view{migration->uid} : std::string_view{};
}

std::string_view recorded_policy(const kube::Vmi& vmi) {
    const auto& migration = vmi.migration;
    return migration ? migration->policy.view() : std::string_view{};
}

std::string named(const std::string& policy) {
    return policy.empty() ? "no policy" : "policy " + policy;
}

}  // namespace

PolicyDrift::PolicyDrift(const asio::any_io_executor& loop, Sources sources, const Clock& clock,
                         std::chrono::milliseconds settle)
    : sources_(sources), clock_(clock), settle_(settle), alarm_(loop) {
    sources_.vmis.on_change([this](const auto& change) { take(change); });
    sources_.policies.on_change([this](const auto&) { policies_changed_ = clock_.steady(); });
    sources_.namespaces.on_change([this](const auto& change) {
        if (change.before && change.now && change.before->labels != change.now->labels) {
            policies_changed_ = clock_.steady();
        }
    });
}

/// Of a VMI that was not known before nobody knows by which labels it was handed off.
void PolicyDrift::take(const kube::Informer<kube::Vmi>::Change& change) {
    const auto move = change.now ? handed_off(*change.now) : std::string_view{};
    const bool is_new = change.before && !move.empty() && handed_off(*change.before) != move;
    if (is_new && sources_.elector.leads() && waiting_.size() < most_waiting) {
        waiting_.push_back({.before = change.before, .now = change.now, .at = clock_.steady()});
        alarm_.ring();
    }
}

Task<> PolicyDrift::run() {
    for (;;) {
        const auto now = clock_.steady();
        while (!waiting_.empty() && now - waiting_.front().at >= settle_) {
            compare(waiting_.front());
            waiting_.pop_front();
        }
        std::chrono::milliseconds longest = until_rung;
        if (!waiting_.empty()) {
            longest =
                std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().at + settle_ - now);
        }
        const bool goes_on = co_await alarm_.wait(longest);
        if (!goes_on) {
            co_return;
        }
    }
}

/// KubeVirt chooses by the VMI's labels in the moment before it writes: what it wrote may have
/// changed them.
void PolicyDrift::compare(const HandOff& move) {
    const auto recorded = recorded_policy(*move.now);
    const auto wanted = expected(*move.before);
    if (recorded == wanted || recorded == expected(*move.now)) {
        ++counters_.same;
    } else if (policies_changed_ && *policies_changed_ >= move.at - changed_before) {
        ++counters_.unclear;
    } else {
        ++counters_.differs;
        tell(*move.now, wanted);
    }
}

std::string PolicyDrift::expected(const kube::Vmi& vmi) const {
    std::vector<migration::MigrationPolicy> policies;
    sources_.policies.each(
        [&policies](const auto& policy) { policies.push_back(cluster::plain_policy(*policy)); });
    const auto space = sources_.namespaces.find({}, vmi.meta.space.view());
    const auto* policy =
        cluster::policy_of_next(vmi, space ? space->labels : kube::Labels{}, policies);
    return policy == nullptr ? std::string{} : policy->name;
}

void PolicyDrift::tell(const kube::Vmi& vmi, const std::string& expected) {
    const std::string recorded{recorded_policy(vmi)};
    spdlog::warn("KubeVirt chose another migration policy vmi={} recorded={} expected={}",
                 log_value(vmi.meta.space.str() + "/" + vmi.meta.name), log_value(recorded),
                 log_value(expected));
    sources_.events.record(
        {.regarding = cluster::vmi_reference(vmi.meta.space.str(), vmi.meta.name, vmi.meta.uid),
         .related = {},
         .warning = true,
         .reason = "MigrationPolicyDiffers",
         .action = "ComparePolicy",
         .note = "KubeVirt handed its migration off with " + named(recorded) +
                 ", and by the rule that virt-scout knows it would be " + named(expected) +
                 ": what virt-scout foretells of migrations of this VM may be wrong"});
}

}  // namespace scout::aggregator
