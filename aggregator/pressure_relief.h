// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/live_settings.h"
#include "aggregator/registry.h"
#include "aggregator/relief_view.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/api_error.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/leader_elector.h"
#include "kube/objects/migration.h"
#include "migration/pressure_relief.h"

namespace scout::aggregator {

enum class ReliefResult : std::uint8_t {
    begun,
    refused,     ///< by the API server or a webhook
    no_webhook,  ///< nobody would have the term obeyed: nothing was made
    unanswered,  ///< it may have been made all the same
    gone,        ///< the VM had left meanwhile: nothing was asked
    taken_back,  ///< begun, and deleted before it was handed off
};
inline constexpr std::size_t relief_results = 6;
[[nodiscard]] std::string_view to_string(ReliefResult result) noexcept;  // "no-webhook", …

struct ReliefCounters {
    std::array<std::uint64_t, relief_results> results{};
    /// Nodes, or VMs of them, that nothing is done for, at the last look.
    std::array<std::size_t, migration::relief_holds> held{};
    std::size_t pressed = 0;  ///< nodes, at the last look
};

/// Moves VMs away from nodes of which agents expect that they run short, before the kubelet evicts
/// them (decision 0016): by migrations whose term leaves pressed nodes out, never by evictions.
/// Only while this process leads and spec.pressure.mode of the ScoutConfig is act.
///
/// A migration is rehearsed first, and made with what stands for its term: without the webhooks
/// virt-scout-target it goes nowhere. One that gets no target pod for two minutes, or is not needed
/// any more before it is handed off, is taken back. One that was refused, not answered or taken
/// back is tried again after a minute at the earliest, and twice as long each time. Memory ∝ VMs
/// that were tried within the last hour, of which there are 60 in a minute at most.
///
/// Loop thread. What the constructor takes by reference must outlive it; it adds handlers to
/// informers, elector and registry, which run elsewhere.
class PressureRelief {
public:
    struct Sources {
        ReliefView::Sources objects;
        Registry& registry;
        const LiveSettings& settings;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
    };
    PressureRelief(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                   const Clock& clock);

    /// Until cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] const ReliefCounters& counters() const noexcept { return counters_; }

private:
    /// Of one VMI, the last.
    struct Try {
        SteadyTime at{};
        std::string node;
        std::string move_uid;     ///< empty: none was made, as far as known
        bool may_be_made = true;  ///< but it may
        unsigned failures = 0;    ///< in a row
        SteadyTime not_before{};
    };
    using Answer = kube::ApiResult<kube::Migration>;

    [[nodiscard]] bool acts() const;
    [[nodiscard]] Task<> look();
    void forget();
    [[nodiscard]] migration::ReliefWorld world() const;
    void add_tries(migration::ReliefWorld& world) const;
    void say(const migration::ReliefPlan& plan);
    [[nodiscard]] Task<> begin(migration::ReliefMove move, std::vector<std::string> pressed);
    [[nodiscard]] Task<Answer> create(std::string space, std::string body, bool dry_run);
    void take_failure(const migration::ReliefMove& move, const kube::ApiError& failure,
                      bool rehearsal);
    void refuse(const migration::ReliefMove& move, ReliefResult result, std::string_view why);
    void take_made(const migration::ReliefMove& move, const kube::Migration& made);
    [[nodiscard]] Task<> take_back(ReliefView::Idle idle);
    void take_taken_back(const ReliefView::Idle& idle);
    void put_off(Try& tried);
    void tell(const migration::ReliefMove& move, const kube::Migration* made,
              std::string_view failure);

    Sources sources_;
    kube::Client& client_;
    const Clock& clock_;
    ReliefView view_;
    Alarm alarm_;
    SteadyTime led_since_{};
    std::map<std::string, Try, std::less<>> tries_;  ///< by the UIDs of VMIs
    std::deque<SteadyTime> begun_;                   ///< within the last minute
    std::vector<migration::HeldRelief> said_;
    ReliefCounters counters_;
};

}  // namespace scout::aggregator
