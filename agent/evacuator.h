// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "agent/evacuation_metrics.h"
#include "agent/evacuations.h"
#include "agent/pacer.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/places.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "launcher/launchers.h"

namespace scout::agent {

/// Keeps the evacuations going: looks at the launchers when they have news, asks those that were
/// told to stop for numbers, and answers for virt-handler's calls. Loop thread; what it is made of
/// must outlive it, and it must be stopped before it goes.
class Evacuator {
public:
    struct Parts {
        asio::any_io_executor loop;
        const Clock& clock;
        launcher::Launchers& launchers;
        BlockingPool& pool;
        EvacuationMetrics& metrics;
        std::filesystem::path marks_file;  ///< for the next agent; empty: none
        std::function<void()> tell;        ///< there are messages for the leader
    };
    Evacuator(Evacuations::Options options, Parts parts);

    /// Until cancelled.
    [[nodiscard]] Task<> run();
    [[nodiscard]] Task<> stop() { return scope_.close(); }

    /// By what is known already; none: answer() must ask launchers first.
    [[nodiscard]] std::optional<migration::HookAnswer> answer_now(const StopQuestion& question);
    /// Waits no longer than the limit for a launcher, for virt-handler's own time is short: of one
    /// that needs longer the stop is held until virt-handler asks again.
    [[nodiscard]] Task<std::optional<migration::HookAnswer>> answer(
        std::shared_ptr<const StopQuestion> question);
    static constexpr std::chrono::milliseconds ask_limit{300};

    /// What the agent before knew is known, or that it cannot be.
    [[nodiscard]] bool remembers() const noexcept { return remembers_; }
    [[nodiscard]] Evacuations& evacuations() noexcept { return evacuations_; }
    [[nodiscard]] const Evacuations& evacuations() const noexcept { return evacuations_; }

private:
    [[nodiscard]] Task<> measure(std::string pod_uid);
    [[nodiscard]] Task<std::optional<launcher::DomainStats>> numbers_of(std::string pod_uid);
    [[nodiscard]] Task<> remember();
    [[nodiscard]] Task<> keep_marks();

    Parts parts_;
    LoopPacer pacer_;
    LoopPacer marks_pacer_;
    bool remembers_ = false;
    Evacuations evacuations_;
    std::shared_ptr<Places> numbers_;
    std::shared_ptr<Places> dirty_rates_;
    TaskScope scope_;
    hypervisor::Subscription news_;
};

}  // namespace scout::agent
