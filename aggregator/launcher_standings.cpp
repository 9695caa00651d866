// SPDX-License-Identifier: Apache-2.0
#include "aggregator/launcher_standings.h"

#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "cluster/launcher_standing.h"
#include "wire/pressure_messages.h"

namespace scout::aggregator {
namespace {

using Pod = std::shared_ptr<const kube::LauncherPod>;

constexpr std::chrono::hours until_rung{1};

/// The kubelet does not rank pods that have ended.
bool is_ranked(const Pod& pod) {
    return pod != nullptr && !pod->node.empty() && !pod->is_final();
}

bool reads_the_same(const Pod& before, const Pod& now) {
    return before->meta.uid == now->meta.uid && before->node == now->node &&
           before->priority == now->priority && before->requests == now->requests;
}

}  // namespace

LauncherStandings::LauncherStandings(const asio::any_io_executor& loop,
                                     kube::Informer<kube::LauncherPod>& launchers,
                                     std::chrono::milliseconds gather)
    : loop_(loop), launchers_(launchers), gather_(gather), alarm_(loop) {
    launchers_.on_change([this](const auto& change) { take_change(change); });
    launchers_.on_synced([this] { alarm_.ring(); });
}

void LauncherStandings::open(SessionId session, const std::string& node, SessionSink& sink) {
    sessions_.insert_or_assign(session, Session{.node = node, .sink = &sink});
    session_of_[node] = session;
    make_due(node);
}

void LauncherStandings::drained(SessionId session) {
    if (due_.contains(session)) {
        alarm_.ring();
    }
}

void LauncherStandings::close(SessionId session) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
        return;
    }
    const auto latest = session_of_.find(found->second.node);
    if (latest != session_of_.end() && latest->second == session) {
        session_of_.erase(latest);
    }
    due_.erase(session);
    sessions_.erase(found);
}

void LauncherStandings::take_change(const kube::Informer<kube::LauncherPod>::Change& change) {
    const bool was = is_ranked(change.before);
    const bool is = is_ranked(change.now);
    if (was) {
        remove(change.before);
    }
    if (is) {
        by_node_[change.now->node.str()].insert(change.now);
    }
    if (was && is && reads_the_same(change.before, change.now)) {
        return;
    }
    for (const auto& pod : {change.before, change.now}) {
        if (is_ranked(pod)) {
            make_due(pod->node.str());
        }
    }
}

void LauncherStandings::remove(const Pod& pod) {
    const auto found = by_node_.find(pod->node.str());
    if (found != by_node_.end()) {
        found->second.erase(pod);
        if (found->second.empty()) {
            by_node_.erase(found);
        }
    }
}

void LauncherStandings::make_due(const std::string& node) {
    if (const auto session = session_of_.find(node); session != session_of_.end()) {
        due_.insert(session->second);
        alarm_.ring();
    }
}

Task<> LauncherStandings::run() {
    asio::steady_timer timer(loop_);
    for (;;) {
        const bool goes_on = co_await alarm_.wait(until_rung);
        if (!goes_on) {
            co_return;
        }
        timer.expires_after(gather_);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        tell_due();
    }
}

/// Half a list would look like launchers that are gone.
void LauncherStandings::tell_due() {
    if (!launchers_.synced()) {
        return;
    }
    std::erase_if(due_, [this](SessionId id) {
        const auto& session = sessions_.at(id);
        const bool room = session.sink->has_room(id);
        if (room) {
            session.sink->send(id, message_of(session.node));
        }
        return room;
    });
}

v1::AggregatorMessage LauncherStandings::message_of(const std::string& node) const {
    migration::PodStandings standings;
    if (const auto pods = by_node_.find(node); pods != by_node_.end()) {
        for (const auto& pod : pods->second) {
            if (const auto standing = cluster::standing_of(*pod)) {
                standings.emplace(pod->meta.uid, *standing);
            }
        }
    }
    v1::AggregatorMessage message;
    *message.mutable_launcher_standings() = wire::to_wire(standings);
    return message;
}

}  // namespace scout::aggregator
