// SPDX-License-Identifier: Apache-2.0
// What agents name and what they are told. Their orders are in evacuation_desk_orders.cpp.
#include "aggregator/evacuation_desk.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "cluster/object_references.h"

namespace scout::aggregator {
namespace {

using migration::EvacuationState;
using namespace std::chrono_literals;

/// An agent counts on one of these being lost.
constexpr auto tell_every = 10s;
constexpr auto look_every = 1s;
/// Of all nodes; more names are left out until others are gone.
constexpr std::size_t most_entries = 20'000;

kube::EventNote note_of(const NamedEvacuation& named, bool warning, std::string text) {
    return {.regarding = cluster::vmi_reference(named.space, named.vmi, named.vmi_uid),
            .related = {},
            .warning = warning,
            .reason = warning ? "EvacuationGivenUp" : "EvacuationBegan",
            .action = warning ? "LetStop" : "Move",
            .note = std::move(text)};
}

/// By what was proven of it: with other names it would be another VM.
bool is_same(const NamedEvacuation& left, const NamedEvacuation& right) {
    return left.space == right.space && left.vmi == right.vmi && left.vmi_uid == right.vmi_uid &&
           left.pod_uid == right.pod_uid;
}

bool is_held(const std::optional<EvacuationState>& state) {
    return state == EvacuationState::suspected || state == EvacuationState::held ||
           state == EvacuationState::moving;
}

}  // namespace

EvacuationDesk::EvacuationDesk(const asio::any_io_executor& loop, Sources sources,
                               kube::Client& client, const Clock& clock,
                               EvacuationOrders::Limits limits)
    : sources_(sources),
      clock_(clock),
      view_(sources.objects),
      acts_(client, clock, [this] { return sources_.elector.may_write_for(); }),
      orders_(
          loop, acts_, [this](const auto& ticket) { return check(ticket); },
          [this](const auto& ticket, auto outcome, auto result) {
              finished(ticket, outcome, std::move(result));
          },
          limits),
      alarm_(loop),
      scope_(loop) {
    view_.on_change([this](std::string_view vmi_uid) { take_change(vmi_uid); });
    // What was held before is the business of whoever leads meanwhile.
    sources_.elector.on_change([this](bool /*leads*/) { left_.clear(); });
    sources_.settings.on_change([this] { take_rules(); });
    sources_.objects.kubevirts.on_change([this](const auto& /*change*/) { take_rules(); });
}

void EvacuationDesk::open(SessionId session, const std::string& node, SessionSink& sink) {
    auto& opened = sessions_[session];
    opened.node = node;
    opened.sink = &sink;
    left_.erase(node);
    flush(session, opened);
}

void EvacuationDesk::heard(SessionId session) {
    const auto found = sessions_.find(session);
    if (found != sessions_.end() && found->second.hook_served && on_agent_) {
        on_agent_(found->second.node);
    }
}

void EvacuationDesk::close(SessionId session) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return;
    }
    auto held = held_on(found->second.node);
    if (!held.empty()) {
        left_[found->second.node] = std::move(held);
    }
    orders_.forget(session);
    naming_.erase(session);
    sessions_.erase(found);
    follow();
}

bool EvacuationDesk::names(std::string_view vmi_uid) const {
    return std::any_of(naming_.begin(), naming_.end(), [this, vmi_uid](SessionId id) {
        const auto& entries = sessions_.at(id).entries;
        const auto found = entries.find(vmi_uid);
        return found != entries.end() && found->second.proven;
    });
}

std::vector<cluster::EvacuationSubject> EvacuationDesk::held_on(std::string_view node) const {
    std::vector<cluster::EvacuationSubject> held;
    if (const auto left = left_.find(node); left != left_.end()) {
        held = left->second;
    }
    for (const auto id : naming_) {
        const auto& session = sessions_.at(id);
        if (session.node != node) {
            continue;
        }
        for (const auto& [uid, entry] : session.entries) {
            if (entry.proven && is_held(entry.named.state)) {
                held.push_back({.space = entry.named.space,
                                .vmi = entry.named.vmi,
                                .vmi_uid = uid,
                                .pod = {},
                                .pod_uid = entry.named.pod_uid,
                                .node = session.node,
                                .strategy = {}});
            }
        }
    }
    return held;
}

Status EvacuationDesk::take(SessionId session, const v1::Evacuations& message) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return {};  // it did not say that it follows launchers
    }
    auto all = evacuations_from_wire(message);
    if (!all) {
        return fail(std::move(all.error()));
    }
    Named named{.all = *std::move(all), .hook_served = message.hook_served()};
    if (found->second.messages.take(clock_.steady())) {
        accept(session, found->second, std::move(named));
    } else {
        found->second.kept = std::move(named);
        heard(session);
    }
    return {};
}

void EvacuationDesk::accept(SessionId id, Session& session, Named named) {
    session.kept.reset();
    session.hook_served = named.hook_served;
    heard(id);
    if (replace(id, session, std::move(named.all))) {
        follow();
    }
    flush(id, session);
}

/// True if others are proven than before.
bool EvacuationDesk::replace(SessionId id, Session& session, std::vector<NamedEvacuation> all) {
    std::size_t places = most_entries;
    for (const auto other : naming_) {
        places -= std::min(places, other == id ? 0 : sessions_.at(other).entries.size());
    }
    all.resize(std::min(all.size(), places));
    auto before = std::exchange(session.entries, {});
    std::size_t proven_before = 0;
    for (const auto& [uid, entry] : before) {
        proven_before += entry.proven ? 1 : 0;
    }
    std::size_t proven_still = 0;
    std::size_t proven_now = 0;
    for (auto& named : all) {
        const auto uid = named.vmi_uid;
        Entry entry;
        std::optional<NamedEvacuation> named_before;
        const auto known = before.find(uid);
        if (known != before.end() && is_same(known->second.named, named)) {
            entry = std::move(known->second);
            named_before = entry.named;
        }
        entry.named = std::move(named);
        proven_still += entry.proven ? 1 : 0;
        prove(entry, session.node);
        proven_now += entry.proven ? 1 : 0;
        tell_people(session, entry, named_before);
        session.entries.emplace(uid, std::move(entry));
    }
    if (session.entries.empty()) {
        naming_.erase(id);
    } else {
        naming_.insert(id);
    }
    return proven_still != proven_before || proven_still != proven_now;
}

/// Once it was it remains so: the pod goes before its launcher's end is heard of.
void EvacuationDesk::prove(Entry& entry, const std::string& node) const {
    entry.proven = entry.proven || view_.is_on(entry.named, node);
}

void EvacuationDesk::follow() {
    std::vector<const NamedEvacuation*> all;
    for (const auto id : naming_) {
        for (const auto& [uid, entry] : sessions_.at(id).entries) {
            if (entry.proven) {
                all.push_back(&entry.named);
            }
        }
    }
    view_.follow(all);
}

/// An agent's word is only told of VMs that are on its node.
void EvacuationDesk::tell_people(const Session& session, const Entry& entry,
                                 const std::optional<NamedEvacuation>& before) {
    const auto& named = entry.named;
    // Of what is given up it may only later be known what that costs its guest.
    const bool is_news =
        !before || named.state != before->state ||
        (named.state == EvacuationState::given_up && named.reason != before->reason);
    if (!entry.proven || !is_news || !sources_.elector.leads()) {
        return;
    }
    if (named.state == EvacuationState::moving) {
        sources_.events.record(note_of(named, false,
                                       "its launcher on " + session.node +
                                           " was told to stop, so it is moved: " + named.reason));
    } else if (named.state == EvacuationState::given_up ||
               (named.state == EvacuationState::released && before && is_held(before->state) &&
                is_wanted(named))) {
        sources_.events.record(
            note_of(named, true,
                    "its launcher on " + session.node +
                        " was told to stop, and it is not moved: " + named.reason));
    }
}

/// Its owner wants it to run on: what is released otherwise stops as it should.
bool EvacuationDesk::is_wanted(const NamedEvacuation& named) const {
    const auto vmi = view_.vmi(named);
    return vmi && !vmi->deletion &&
           sources_.settings.current().evacuation.mode == cluster::EvacuationMode::act &&
           migration::effective_strategy(vmi->eviction_strategy.view(), view_.strategy()) !=
               migration::EvictionStrategy::none;
}

void EvacuationDesk::take_change(std::string_view vmi_uid) {
    bool newly = false;
    for (const auto id : naming_) {
        auto& session = sessions_.at(id);
        auto from = vmi_uid.empty() ? session.entries.begin() : session.entries.find(vmi_uid);
        const auto end = vmi_uid.empty() || from == session.entries.end() ? session.entries.end()
                                                                          : std::next(from);
        for (; from != end; ++from) {
            auto& entry = from->second;
            const bool before = entry.proven;
            prove(entry, session.node);
            newly = newly || entry.proven != before;
            entry.due = true;
            alarm_.ring();
        }
    }
    if (newly) {
        follow();
    }
}

void EvacuationDesk::take_rules() {
    const auto version = view_.kubevirt_version();
    if (!stamp_works_ && version != version_) {
        stamp_works_ = true;  // another KubeVirt may leave it
    }
    for (auto& [id, session] : sessions_) {
        session.rules_due = true;
    }
    alarm_.ring();
}

Task<> EvacuationDesk::run() {
    for (;;) {
        look_again();
        const bool goes_on = co_await alarm_.wait(look_every);
        if (!goes_on) {
            co_return;
        }
    }
}

Task<> EvacuationDesk::stop() {
    co_await orders_.end();
    co_await scope_.close();
}

void EvacuationDesk::look_again() {
    const auto now = clock_.steady();
    for (auto& [id, session] : sessions_) {
        if (session.kept && session.messages.take(now)) {
            const auto kept = std::move(*session.kept);
            session.kept.reset();
            accept(id, session, kept);
        }
        flush(id, session);
    }
    sweep_policies();
}

void EvacuationDesk::drained(SessionId session) {
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
        flush(session, found->second);
    }
}

/// What waits for longest first; facts can wait, for they are made when they are sent.
void EvacuationDesk::flush(SessionId id, Session& session) {
    while (!session.results.empty() && session.sink->has_room(id)) {
        v1::AggregatorMessage message;
        *message.mutable_evacuation_result() = std::move(session.results.front());
        session.results.pop_front();
        session.sink->send(id, message);
    }
    if (session.rules_due && sources_.settings.synced() && session.sink->has_room(id)) {
        send_rules(id, session);
    }
    const auto now = clock_.steady();
    for (auto& [uid, entry] : session.entries) {
        if (!entry.due && now - entry.told_at < tell_every) {
            continue;
        }
        if (!session.sink->has_room(id)) {
            return;
        }
        send_facts(id, session, entry);
    }
}

void EvacuationDesk::send_rules(SessionId id, Session& session) {
    session.rules_due = false;
    const auto rules =
        to_wire(sources_.settings.current().evacuation, stamp_works_, view_.strategy());
    auto text = rules.SerializeAsString();
    if (text == session.rules_told) {
        return;
    }
    session.rules_told = std::move(text);
    v1::AggregatorMessage message;
    *message.mutable_evacuation_rules() = rules;
    session.sink->send(id, message);
}

void EvacuationDesk::send_facts(SessionId id, Session& session, Entry& entry) {
    const auto now = clock_.steady();
    const auto facts = view_.facts(entry.named, session.node, entry.proven);
    auto text = facts.SerializeAsString();
    entry.due = false;
    if (text == entry.told && now - entry.told_at < tell_every) {
        return;
    }
    entry.told = std::move(text);
    entry.told_at = now;
    ++facts_;
    v1::AggregatorMessage message;
    *message.mutable_evacuation_facts() = facts;
    session.sink->send(id, message);
}

EvacuationCounters EvacuationDesk::counters() const {
    EvacuationCounters counters;
    counters.agents = sessions_.size();
    for (const auto& [id, session] : sessions_) {
        for (const auto& [uid, entry] : session.entries) {
            if (entry.proven && entry.named.state) {
                ++counters.states.at(static_cast<std::size_t>(*entry.named.state));
            }
        }
    }
    counters.orders = orders_.counters();
    counters.facts = facts_;
    counters.foreign = foreign_;
    return counters;
}

}  // namespace scout::aggregator
