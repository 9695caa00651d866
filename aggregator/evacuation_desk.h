// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/evacuation_orders.h"
#include "aggregator/evacuation_view.h"
#include "aggregator/live_settings.h"
#include "aggregator/stream_sink.h"
#include "base/alarm.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/evacuation_acts.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/leader_elector.h"

namespace scout::aggregator {

struct EvacuationCounters {
    std::size_t agents = 0;               ///< that follow launchers
    std::array<std::size_t, 7> states{};  ///< evacuations by migration::EvacuationState
    OrderCounters orders{};               ///< that were carried out or refused
    std::uint64_t facts = 0;              ///< messages
    std::uint64_t foreign = 0;            ///< orders about what is not the agent's
};

/// The leader's side of moving VMs whose launchers were told to stop (decisions 0013, 0014): tells
/// agents the rules and what the cluster's objects say, and does what they order, but only to the
/// VMs that the cluster itself says are on their nodes. What an agent does not read in time is not
/// kept: facts are the latest ones when they are sent, and orders are bounded.
///
/// Loop thread. Everything that the constructor takes by reference must outlive it, and it every
/// session; it adds handlers to the informers, the settings and the elector, which run elsewhere.
class EvacuationDesk {
public:
    struct Sources {
        EvacuationView::Sources objects;
        LiveSettings& settings;
        kube::LeaderElector& elector;
        kube::EventRecorder& events;
    };

    EvacuationDesk(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                   const Clock& clock, EvacuationOrders::Limits limits = {});

    /// An agent that follows launchers has said hello. The sink must live until close().
    void open(SessionId session, const std::string& node, SessionSink& sink);
    /// It is there.
    void heard(SessionId session);
    /// Replaces what it named before; of too many in a short time the last one counts, a moment
    /// later. Errc::invalid: such a message ends its stream.
    [[nodiscard]] Status take(SessionId session, const v1::Evacuations& message);
    /// Its result follows, whatever it is. Errc::refused: it takes no results, so its stream ends.
    [[nodiscard]] Status order(SessionId session, const v1::EvacuationOrder& message);
    /// There is room for messages to it again.
    void drained(SessionId session);
    void close(SessionId session);

    /// Called whenever an agent is heard of that answers virt-handler.
    void on_agent(std::function<void(const std::string& node)> handler) {
        on_agent_ = std::move(handler);
    }
    /// Whether some agent names that VMI and the cluster says that it is on its node.
    [[nodiscard]] bool names(std::string_view vmi_uid) const;
    /// VMs whose stop was held there when its agent was heard last.
    [[nodiscard]] std::vector<cluster::EvacuationSubject> held_on(std::string_view node) const;

    /// Sends facts until it is cancelled.
    [[nodiscard]] Task<> run();
    /// Ends what is under way.
    [[nodiscard]] Task<> stop();

    [[nodiscard]] EvacuationCounters counters() const;

private:
    /// What a session may have of something: so many at once, and in the long run a second.
    class Tokens {
    public:
        Tokens(double burst, double per_second)
            : burst_(burst), per_second_(per_second), left_(burst) {}
        /// One of them; false: there is none.
        [[nodiscard]] bool take(SteadyTime now);

    private:
        double burst_;
        double per_second_;
        double left_;
        SteadyTime filled_{};
    };

    /// One message of an agent.
    struct Named {
        std::vector<NamedEvacuation> all;
        bool hook_served = false;
    };
    /// A launcher that is named, and what its agent was told of it.
    struct Entry {
        NamedEvacuation named;
        bool proven = false;  ///< the cluster says that it is on the node
        bool due = true;      ///< facts that may have changed
        std::string told;     ///< the last facts
        SteadyTime told_at{};
        bool open_order = false;
        std::optional<SteadyTime> would_mark;  ///< a dry run said so
        std::set<std::string> listed;          ///< names of its migrations that it was told
        std::set<std::string> targets;         ///< likewise of target pods
    };
    struct Session {
        std::string node;
        SessionSink* sink = nullptr;
        std::map<std::string, Entry, std::less<>> entries;  ///< by uid of the VMI
        std::deque<v1::EvacuationResult> results;
        bool hook_served = false;  ///< virt-handler is answered on its node
        bool rules_due = true;
        std::string rules_told;
        /// 200 VMs of a node may be told to stop at once, and each needs some ten orders.
        Tokens orders{2000, 50};
        /// An agent tells of changes twice a second, and at once of who is new.
        Tokens messages{50, 5};
        std::optional<Named> kept;  ///< the last of those that were too many
    };
    using Sessions = std::map<SessionId, Session>;
    /// What becomes of the policy of a move.
    enum class PolicyUse : std::uint8_t {
        wanted,
        over,     ///< its move has ended, or is not to be escalated any more
        unknown,  ///< no agent names its VMI: perhaps not yet
    };
    struct PolicyCare {
        SteadyTime unwanted_since{};
        std::optional<SteadyTime> tried_at = {};  ///< to remove it
    };

    void take_change(std::string_view vmi_uid);
    void take_rules();
    void prove(Entry& entry, const std::string& node) const;
    void accept(SessionId id, Session& session, Named named);
    [[nodiscard]] bool replace(SessionId id, Session& session, std::vector<NamedEvacuation> all);
    void follow();
    void tell_people(const Session& session, const Entry& entry,
                     const std::optional<NamedEvacuation>& before);
    [[nodiscard]] bool is_wanted(const NamedEvacuation& named) const;
    void look_again();
    void sweep_policies();
    [[nodiscard]] PolicyUse use_of_policy(std::string_view vmi_uid) const;
    [[nodiscard]] Task<> remove_policy(EvacuationView::MoveWithPolicy move);
    void flush(SessionId id, Session& session);
    void send_rules(SessionId id, Session& session);
    void send_facts(SessionId id, Session& session, Entry& entry);
    /// `entry`: what its session evacuates; null where it does not.
    void carry_out(const OrderTicket& ticket, Session& session, Entry* entry);
    [[nodiscard]] OrderLeave check(const OrderTicket& ticket);
    [[nodiscard]] OrderLeave refuse(const OrderTicket& ticket, std::string why);
    [[nodiscard]] OrderLeave check_step(const OrderTicket& ticket, const Entry& entry) const;
    [[nodiscard]] OrderLeave check_policy(const OrderTicket& ticket, const Entry& entry,
                                          OrderLeave leave) const;
    [[nodiscard]] OrderLeave check_object(const OrderTicket& ticket, const Entry& entry) const;
    void finished(const OrderTicket& ticket, migration::StepOutcome outcome,
                  v1::EvacuationResult result);
    void answer(SessionId id, Session& session, v1::EvacuationResult result);
    [[nodiscard]] Entry* find(SessionId session, std::string_view vmi_uid);
    void learn(const OrderTicket& ticket, migration::StepOutcome outcome,
               const v1::EvacuationResult& result);

    Sources sources_;
    const Clock& clock_;
    EvacuationView view_;
    cluster::EvacuationActs acts_;
    EvacuationOrders orders_;
    Alarm alarm_;
    Sessions sessions_;
    std::set<SessionId> naming_;  ///< sessions that name any
    /// Of nodes whose agents went away meanwhile.
    std::map<std::string, std::vector<cluster::EvacuationSubject>, std::less<>> left_;
    std::function<void(const std::string&)> on_agent_;
    /// Policies of moves that are to go, by the uids of their VMIs.
    std::map<std::string, PolicyCare, std::less<>> policies_;
    TaskScope scope_;
    bool stamp_works_ = true;  ///< until it was undone
    std::string version_;      ///< of KubeVirt, with which it did not
    std::uint64_t facts_ = 0;
    std::uint64_t foreign_ = 0;
    std::optional<SteadyTime> warned_at_;
};

}  // namespace scout::aggregator
