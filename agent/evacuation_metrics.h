// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <prometheus/registry.h>

#include "migration/evacuation.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
template <typename T>
class Family;
}  // namespace prometheus

namespace scout::agent {

/// How a call of virt-handler was answered.
enum class HookOutcome : std::uint8_t {
    allowed,
    vetoed,
    not_understood,  ///< and so allowed
};

/// What is done with launchers that are told to stop. Any thread; the registry keeps them alive.
class EvacuationMetrics {
public:
    explicit EvacuationMetrics(prometheus::Registry& registry);

    using ByState = std::array<unsigned, 7>;
    /// How many evacuations there are in each state.
    void set(const ByState& count);
    void ended(migration::EvacuationState outcome, migration::EvacuationWhy why);
    void aborted(std::chrono::duration<double> took);
    void called(HookOutcome outcome, std::chrono::duration<double> took);

private:
    std::array<prometheus::Gauge*, 7> states_{};
    prometheus::Family<prometheus::Counter>& ends_;
    std::array<prometheus::Counter*, 3> calls_{};
    prometheus::Histogram& seconds_;
    prometheus::Histogram& aborts_;
};

}  // namespace scout::agent
