// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/evacuation_metrics.h"
#include "agent/evacuation_orders.h"
#include "agent/followed_launcher.h"
#include "agent/mark_times.h"
#include "agent/messages.h"
#include "base/clock.h"
#include "launcher/launcher_table.h"
#include "migration/abort_time.h"
#include "migration/evacuation.h"
#include "migration/evacuation_outlook.h"

namespace scout::agent {

/// What virt-handler asks before it stops a guest.
struct StopQuestion {
    migration::VmiFacts vmi;        ///< as its cache has it; the strategy is the VMI's own
    bool strategy_set = false;      ///< the VMI has one
    std::vector<std::string> pods;  ///< UIDs of its launchers, on any node
};

/// The evacuations of this node: one for each launcher that was told to stop (decisions 0013,
/// 0014). Told what launchers, leader and virt-handler say, it answers virt-handler and has
/// messages for the leader. Nothing here waits, and nothing is kept that a restart would lose: all
/// of it follows from what is told again, but for the times of the marks, and how long aborts took
/// on this node, which is learnt anew.
///
/// Until a leader has told the rules, in any mode but `act`, and without a leader for the time of
/// its patience, nothing is held. Loop thread; clock and metrics must outlive it.
class Evacuations {
public:
    struct Options {
        std::string node;
        migration::MoveAssumptions assumed;
        /// What the kubelet gives a pod that is told to stop now, of which the pod's own time is
        /// given; none: it is not known to be about to stop any, or that is not known.
        std::function<std::optional<std::chrono::seconds>(std::chrono::seconds)> kubelet_grace = {};
        /// virt-handler may ask; else a guest is asked to shut down at the mark, and to act is too
        /// late.
        bool hook = true;
    };
    /// `changed` is called when turn() is due though wake() did not say so.
    Evacuations(Options options, const Clock& clock, EvacuationMetrics& metrics,
                std::function<void()> changed);

    /// Looks at the launchers, thinks anew, and gives orders.
    void turn(const launcher::LauncherTable& launchers);
    /// When turn() is to be called though nothing was told; SteadyTime::max(): never.
    [[nodiscard]] SteadyTime wake() const;
    /// Pods whose launchers are to be asked for numbers now; each once, until some time later.
    [[nodiscard]] std::vector<std::string> to_measure();
    void measured(const std::string& pod_uid, const launcher::DomainStats& stats);
    void measured_dirty_rate(const std::string& pod_uid, std::uint64_t mib_s);
    /// How fast its guest writes is not known, or not any more, and can be measured.
    [[nodiscard]] bool wants_dirty_rate(std::string_view pod_uid) const;

    /// What the agent before kept of marks(). Launchers that are found to be marked in the first
    /// seconds from now on, and are not in it, were marked while no agent was there: no earlier
    /// than when the one before was alive, nor than virt-handler would have waited for one.
    void remember(KeptMarks kept);
    /// Since when launchers are told to stop.
    [[nodiscard]] const MarkTimes& marks() const noexcept { return marks_; }
    /// Another number for each change of marks().
    [[nodiscard]] std::uint64_t marks_revision() const noexcept { return marks_revision_; }

    /// What to answer virt-handler; none: the launchers of launchers_of() must have been asked
    /// just now, else nobody knows.
    [[nodiscard]] std::optional<migration::HookAnswer> answer(
        const StopQuestion& question, const launcher::LauncherTable& launchers);
    /// The same where no launcher has said that it was told to stop, asked from then on. One that
    /// has not answered may have been: under load, when launchers are told to stop, they need their
    /// time, and a stop that passed is never taken back. It is held for silent_limit from the first
    /// such question on.
    [[nodiscard]] migration::HookAnswer answer_unheard(const StopQuestion& question,
                                                       const launcher::LauncherTable& launchers,
                                                       SteadyTime asked);
    static constexpr std::chrono::seconds silent_limit{3};
    /// Those that virt-handler names; where none of them is here, those that call themselves so.
    [[nodiscard]] static std::vector<std::string> launchers_of(
        const StopQuestion& question, const launcher::LauncherTable& launchers);

    /// Anything was heard from the leader.
    void heard_leader();
    /// The stream to it ended.
    void lost_leader();
    /// Whether virt-handler is answered on this node; the leader is told.
    void set_hook_served(bool served);
    void take(const EvacuationRules& rules);
    void take(const EvacuationFacts& facts);
    void take(EvacuationResult result);
    /// What to tell it next.
    [[nodiscard]] std::optional<Message> next();
    [[nodiscard]] bool has_next() const;

    [[nodiscard]] const std::optional<EvacuationRules>& rules() const noexcept { return rules_; }
    /// Whatever stops a launcher, it has no more time than the node's pods have. None: nobody
    /// waits for them, and virt-handler ends when they do. `handler_stops`:
    /// migration::handler_stops_with_vms().
    void node_shuts_down(std::optional<std::chrono::seconds> pods_get, bool handler_stops = false);
    /// It does not shut down any more.
    void node_stays() {
        handler_stops_ = false;
        node_ends_.reset();
        tell_node_ends();
    }
    /// What is done with launchers that are told to stop, for people.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] const std::map<std::string, FollowedLauncher, std::less<>>& followed()
        const noexcept {
        return followed_;
    }

private:
    [[nodiscard]] bool is_mode(EvacuationMode mode) const noexcept;
    [[nodiscard]] FollowedLauncher::Made made(SteadyTime now) const;
    [[nodiscard]] FollowedLauncher* find(std::string_view vmi_uid);
    [[nodiscard]] FollowedLauncher* asked_about(const StopQuestion& question,
                                                const launcher::LauncherTable& launchers,
                                                SteadyTime now);
    FollowedLauncher* adopt(const std::string& pod_uid, const launcher::Launcher& launcher,
                            SteadyTime now);
    [[nodiscard]] SteadyTime marked_at(const std::string& pod_uid,
                                       const launcher::Launcher& launcher, SteadyTime now);
    void tell_node_ends();
    void note_marks(const launcher::LauncherTable& launchers, SteadyTime now);
    void follow(const launcher::LauncherTable& launchers, SteadyTime now);
    void expire(SteadyTime now);
    void learn_aborts(SteadyTime now);
    void unanswered(const EvacuationOrders::Open& open, SteadyTime now);
    void think(FollowedLauncher& launcher, SteadyTime now) const;
    void look_ahead(SteadyTime now);
    void give_orders(SteadyTime now);
    void note(const std::string& pod_uid, FollowedLauncher& launcher);
    void note_all();
    [[nodiscard]] EvacuationsMessage lines() const;

    Options options_;
    const Clock& clock_;
    EvacuationMetrics& metrics_;
    std::function<void()> changed_;

    SteadyTime begun_;  ///< this agent
    std::optional<EvacuationRules> rules_;
    unsigned slots_;
    std::map<std::string, FollowedLauncher, std::less<>> followed_;  ///< by pod UID
    std::set<std::string, std::less<>> disowned_;  ///< pods that spoke for VMIs of others
    EvacuationOrders orders_;
    migration::AbortTimes aborts_;
    MarkTimes marks_;
    std::uint64_t marks_revision_ = 0;
    std::optional<SteadyTime> unseen_since_;  ///< until all launchers are found
    SteadyTime all_found_at_{};               ///< then they are

    std::map<std::string, SteadyTime, std::less<>> silent_;  ///< VMIs, first asked about in vain
    std::optional<SteadyTime> heard_;
    std::optional<SteadyTime> node_ends_;  ///< pods are killed then, for the node shuts down
    bool handler_stops_ = false;           ///< virt-handler does, for that reason
    bool hook_served_ = false;
    bool there_ = false;            ///< the leader was heard on the stream that is open
    bool members_changed_ = false;  ///< and not told
    bool lines_changed_ = false;
    SteadyTime tell_lines_at_{};
};

}  // namespace scout::agent
