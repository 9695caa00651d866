// SPDX-License-Identifier: Apache-2.0
#include "migration/vm_protection.h"

#include <algorithm>
#include <utility>

namespace scout::migration {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What a kubelet gives at a hard threshold (dossier §12.1).
constexpr seconds hard_grace{1};

std::string in_seconds(milliseconds time) {
    return std::to_string(std::chrono::ceil<seconds>(time).count()) + " s";
}

std::string_view who_ends(StopLimit limit) {
    switch (limit) {
        case StopLimit::launcher:
            return "its launcher kills the guest after ";
        case StopLimit::pod:
            return "its pod is killed after ";
        case StopLimit::deletion:
            return "its pod was deleted with ";
        case StopLimit::kubelet:
            break;
    }
    return "the kubelet gives it ";
}

/// "its launcher kills the guest after 45 s, of which 10 s are the guest's own"
std::string budget_text(const StopBudget& budget, milliseconds kept) {
    return std::string{who_ends(budget.limit)} + in_seconds(budget.ends) + ", of which " +
           in_seconds(kept) + " are kept to abort it and for the guest's own shutdown";
}

std::string course_text(const MigrationCourse& course) {
    switch (course.end) {
        case MigrationEnd::aborted:
            return "is given up by KubeVirt after " + in_seconds(course.duration);
        case MigrationEnd::never:
            return "does not end: the guest writes faster than is copied";
        case MigrationEnd::converged:
        case MigrationEnd::post_copy:
        case MigrationEnd::paused:
            break;
    }
    return "takes " + in_seconds(course.duration);
}

/// Why its strategy keeps it where it is; empty: it does not.
std::string strategy_text(const ProtectionFacts& facts) {
    switch (facts.strategy) {
        case EvictionStrategy::external:
            return "evictionStrategy is External: its stop is held, and somebody else has to move "
                   "it";
        case EvictionStrategy::none:
            if (facts.strategy_said.empty()) {
                return "neither the VMI nor the KubeVirt object has an evictionStrategy";
            }
            return "evictionStrategy is " + facts.strategy_said +
                   (facts.strategy_said == to_string(EvictionStrategy::none)
                        ? ""
                        : ", which nobody knows");
        case EvictionStrategy::live_migrate:
        case EvictionStrategy::live_migrate_if_possible:
            break;
    }
    return {};
}

/// What comes before the question of time; none: nothing does.
std::optional<std::pair<ProtectionVerdict, std::string>> obstacle(const ProtectionFacts& facts) {
    if (!facts.strategy_known) {
        return {{ProtectionVerdict::unknown,
                 "the VMI has no evictionStrategy, and the KubeVirt object, whose word counts "
                 "then, is not known"}};
    }
    if (auto why = strategy_text(facts); !why.empty()) {
        return {{ProtectionVerdict::strategy, std::move(why)}};
    }
    if (!facts.migratable) {
        return {
            {ProtectionVerdict::unknown,
             "KubeVirt has not said yet whether it can be migrated (condition LiveMigratable)"}};
    }
    if (wanted_move(facts.strategy, *facts.migratable) != WantedMove::move) {
        return {{ProtectionVerdict::not_migratable,
                 facts.not_migratable.empty() ? "KubeVirt gives no reason" : facts.not_migratable}};
    }
    if (!facts.no_hook.empty()) {
        return {{ProtectionVerdict::no_hook, facts.no_hook}};
    }
    if (!facts.missing.empty()) {
        return {{ProtectionVerdict::unknown, facts.missing}};
    }
    if (facts.subject.memory == 0) {
        return {{ProtectionVerdict::unknown, "its specification does not tell its memory"}};
    }
    return std::nullopt;
}

/// At a threshold of the kubelet; empty: there is time at each of them.
std::string evicted_text(const KubeletGraces& kubelet) {
    if (kubelet.soft.value_or(hard_grace) <= hard_grace) {
        return "; at a threshold of the kubelet it is killed at once";
    }
    std::string signals;
    for (const auto signal : kubelet.hard_alone) {
        signals += (signals.empty() ? "" : ", ") + std::string{to_string(signal)};
    }
    return signals.empty() ? signals
                           : "; it is killed at once for want of " + signals +
                                 ", for which the kubelet has no soft threshold";
}

std::string shutdown_text(const KubeletGraces& kubelet) {
    if (!kubelet.shutdown) {
        return "; when its node shuts down the kubelet waits for no pod";
    }
    return kubelet.handler_stops
               ? "; when its node shuts down it has " + in_seconds(*kubelet.shutdown) +
                     ", in which nothing is moved, for virt-handler stops too"
               : std::string{};
}

/// Where most of its time is that of one way to stop, others may leave none.
std::string kubelet_text(const ProtectionFacts& facts) {
    return facts.kubelet ? evicted_text(*facts.kubelet) + shutdown_text(*facts.kubelet)
                         : std::string{};
}

/// Of a move that does not end in time by its policy.
void judge_escalated(const ProtectionFacts& facts, const EscalatedMove& escalated,
                     ProtectionAnswer& answer) {
    const auto escalation = facts.subject.escalation;
    const std::string word{to_string(escalation)};
    if (!facts.escalation_refused.empty()) {
        answer.why += "; with " + word + " it would end in time, but " + facts.escalation_refused;
        return;
    }
    answer.verdict = ProtectionVerdict::guarded;
    answer.why += "; with " + word + ", which evacuation.escalation allows, it takes " +
                  in_seconds(escalated.duration) +
                  (escalation == Escalation::post_copy ? " at worst" : " at best") +
                  kubelet_text(facts);
}

void judge_time(const ProtectionFacts& facts, const MigrationForecast& forecast,
                ProtectionAnswer& answer) {
    const auto& [optimistic, expected, pessimistic] = forecast;
    const auto left = answer.left();
    const auto in_time = [left](const MigrationCourse& course) {
        return course.moved() && course.duration <= left;
    };
    const auto budget = budget_text(answer.budget, answer.kept);
    if (!in_time(optimistic)) {
        answer.verdict = ProtectionVerdict::too_big;
        answer.why = "at best a move " + course_text(optimistic) + ", and " + budget;
        if (answer.escalated) {
            judge_escalated(facts, *answer.escalated, answer);
        }
        return;
    }
    answer.verdict = ProtectionVerdict::guarded;
    if (in_time(pessimistic)) {
        answer.why =
            "a move takes " + in_seconds(pessimistic.duration) + " at worst, and " + budget;
    } else if (in_time(expected)) {
        answer.why = "a move takes " + in_seconds(expected.duration) + ", at worst it " +
                     course_text(pessimistic) + "; " + budget;
    } else {
        answer.why = "a move would be begun, for it takes " + in_seconds(optimistic.duration) +
                     " at best; but it is expected that it " + course_text(expected) + ", and " +
                     budget;
    }
    answer.why += kubelet_text(facts);
}

std::optional<seconds> needed_for(const MigrationForecast& forecast, milliseconds kept) {
    const auto& course = forecast.expected.moved() ? forecast.expected : forecast.optimistic;
    return course.moved() ? std::optional{std::chrono::ceil<seconds>(course.duration + kept)}
                          : std::nullopt;
}

}  // namespace

std::string_view to_string(ProtectionVerdict verdict) noexcept {
    switch (verdict) {
        case ProtectionVerdict::guarded:
            return "protected";
        case ProtectionVerdict::too_big:
            return "too-big";
        case ProtectionVerdict::not_migratable:
            return "not-migratable";
        case ProtectionVerdict::strategy:
            return "strategy";
        case ProtectionVerdict::no_hook:
            return "no-hook";
        case ProtectionVerdict::unknown:
            break;
    }
    return "unknown";
}

ProtectionVerdict protection_verdict_named(std::string_view word) noexcept {
    for (std::size_t i = 0; i < protection_verdicts; ++i) {
        const auto verdict = static_cast<ProtectionVerdict>(i);
        if (to_string(verdict) == word) {
            return verdict;
        }
    }
    return ProtectionVerdict::unknown;
}

seconds longest_grace(const KubeletGraces& kubelet, seconds pod_grace) noexcept {
    const auto soft = std::min(kubelet.soft.value_or(hard_grace), pod_grace);
    const auto shutdown =
        kubelet.handler_stops ? hard_grace : kubelet.shutdown.value_or(hard_grace);
    return std::max({hard_grace, soft, shutdown});
}

ProtectionAnswer judge_protection(const ProtectionFacts& facts, const MoveAssumptions& assumed) {
    auto times = facts.subject.times;
    if (facts.kubelet) {
        times.kubelet_grace =
            longest_grace(*facts.kubelet, times.pod_grace.value_or(times.vmi_grace + pod_patience));
    }
    ProtectionAnswer answer{.verdict = ProtectionVerdict::unknown,
                            .budget = stop_budget(times),
                            .forecast = std::nullopt,
                            .needed = std::nullopt,
                            .escalated = std::nullopt,
                            .why = {},
                            .kept = facts.reserve + outlook_of(facts.subject, assumed).abort_time};
    if (facts.subject.memory > 0) {
        answer.forecast = forecast_of(facts.subject, assumed);
        answer.needed = needed_for(*answer.forecast, answer.kept);
        auto subject = facts.subject;
        subject.left = answer.left();
        answer.escalated = outlook_of(subject, assumed).escalated;
    }
    if (auto found = obstacle(facts)) {
        answer.verdict = found->first;
        answer.why = std::move(found->second);
    } else if (answer.forecast) {
        judge_time(facts, *answer.forecast, answer);
        answer.why += facts.copied.empty() ? std::string{} : "; " + facts.copied;
    }
    return answer;
}

}  // namespace scout::migration
