// SPDX-License-Identifier: Apache-2.0
#include "cluster/protection_advice.h"

#include <algorithm>
#include <chrono>

#include "cluster/launcher_grace.h"
#include "kube/objects/new_pod.h"

namespace scout::cluster {
namespace {

using migration::ProtectionVerdict;
using std::chrono::seconds;

constexpr const char* speed_advice =
    "raise the bandwidth or completionTimeoutPerGiB, or allow auto-converge or post-copy, in a "
    "MigrationPolicy or the KubeVirt object";
constexpr const char* escalation_advice =
    ", or spec.evacuation.escalation of the ScoutConfig for evacuations alone";

/// How it gets the time that it needs.
std::string raise_advice(migration::StopLimit limit, seconds needed) {
    const auto time = std::to_string(needed.count());
    if (limit == migration::StopLimit::kubelet) {
        return "on its node give the kubelet soft thresholds (evictionSoft, "
               "evictionSoftGracePeriod; of memory for memory.available and "
               "allocatableMemory.available) with an evictionMaxPodGracePeriod of at least " +
               time +
               "; and, in the place of shutdownGracePeriod and shutdownGracePeriodCriticalPods, "
               "with which it would not start, a shutdownGracePeriodByPodPriority of at least " +
               time + " s for VMs, with a step of its own for virt-handler (1000000000)";
    }
    const auto grace = std::max(needed - migration::launcher_patience, seconds{1});
    auto advice = "terminationGracePeriodSeconds: " + std::to_string(grace.count()) +
                  " in the VM's template, from its next start on";
    if (needed <= seconds{most_grace_seconds}) {
        advice += "; or, from its next launcher on, a move's target too, " +
                  std::string{kube::grace_key} + ": \"" + time +
                  "\" as an annotation of the VMI or a label of its namespace";
    }
    return advice;
}

/// What was asked for already needs only a new launcher.
std::string time_advice(const migration::ProtectionFacts& facts,
                        const migration::StopBudget& budget, seconds needed) {
    if (budget.limit == migration::StopLimit::kubelet || !facts.next_grace ||
        *facts.next_grace <= budget.ends) {
        return raise_advice(budget.limit, needed);
    }
    const auto set = std::string{kube::grace_key} + " is set to " +
                     std::to_string(facts.next_grace->count()) +
                     ", in force from its next launcher: migrate it once";
    return *facts.next_grace >= needed
               ? set
               : set + "; that is not enough: " + raise_advice(budget.limit, needed);
}

}  // namespace

std::string protection_advice(const migration::ProtectionFacts& facts,
                              const migration::ProtectionAnswer& answer, bool is_own) {
    const bool fits = answer.forecast && answer.forecast->expected.moved() &&
                      answer.forecast->expected.duration <= answer.left();
    switch (answer.verdict) {
        case ProtectionVerdict::guarded:
        case ProtectionVerdict::too_big:
            if (fits) {
                return {};
            }
            if (answer.needed && *answer.needed > answer.budget.ends) {
                return time_advice(facts, answer.budget, *answer.needed);
            }
            return facts.subject.escalation == migration::Escalation::none
                       ? std::string{speed_advice} + escalation_advice
                       : speed_advice;
        case ProtectionVerdict::strategy:
            return facts.strategy == migration::EvictionStrategy::external
                       ? std::string{}
                       : "evictionStrategy: LiveMigrate in the VM's template" +
                             std::string{is_own ? ", whose own word comes first"
                                                : ", or in the KubeVirt object"};
        case ProtectionVerdict::not_migratable:
        case ProtectionVerdict::no_hook:
        case ProtectionVerdict::unknown:
            break;
    }
    return {};
}

}  // namespace scout::cluster
