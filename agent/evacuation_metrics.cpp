// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuation_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace scout::agent {
namespace {

using migration::EvacuationState;

constexpr std::array<const char*, 3> outcomes{"allowed", "vetoed", "not-understood"};

}  // namespace

EvacuationMetrics::EvacuationMetrics(prometheus::Registry& registry)
    : ends_(prometheus::BuildCounter()
                .Name("virt_scout_agent_evacuations_ended_total")
                .Help("Launchers that were told to stop, by what became of their VMs.")
                .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("virt_scout_agent_hook_seconds")
                   .Help("How long virt-handler waited for an answer.")
                   .Register(registry)
                   .Add({}, prometheus::Histogram::BucketBoundaries{0.0001, 0.0005, 0.001, 0.005,
                                                                    0.02, 0.1, 0.5, 2})),
      aborts_(prometheus::BuildHistogram()
                  .Name("virt_scout_agent_migration_abort_seconds")
                  .Help("How long migrations ran on after they were cancelled for their guests.")
                  .Register(registry)
                  .Add({}, prometheus::Histogram::BucketBoundaries{1, 2, 3, 5, 8, 12, 20, 30})) {
    auto& states = prometheus::BuildGauge()
                       .Name("virt_scout_agent_evacuations")
                       .Help("Launchers of this node that were told to stop, by state.")
                       .Register(registry);
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const auto state = static_cast<EvacuationState>(i);
        states_[i] = &states.Add({{"state", std::string{migration::to_string(state)}}});
    }
    auto& calls = prometheus::BuildCounter()
                      .Name("virt_scout_agent_hook_calls_total")
                      .Help("Calls of virt-handler before it takes a step, by answer.")
                      .Register(registry);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        calls_[i] = &calls.Add({{"answer", outcomes[i]}});
    }
}

void EvacuationMetrics::set(const ByState& count) {
    for (std::size_t i = 0; i < count.size(); ++i) {
        states_[i]->Set(count[i]);
    }
}

void EvacuationMetrics::ended(EvacuationState outcome, migration::EvacuationWhy why) {
    ends_
        .Add({{"outcome", std::string{migration::to_string(outcome)}},
              {"reason", std::string{migration::to_string(why)}}})
        .Increment();
}

void EvacuationMetrics::aborted(std::chrono::duration<double> took) {
    aborts_.Observe(took.count());
}

void EvacuationMetrics::called(HookOutcome outcome, std::chrono::duration<double> took) {
    calls_[static_cast<std::size_t>(outcome)]->Increment();
    seconds_.Observe(took.count());
}

}  // namespace scout::agent
