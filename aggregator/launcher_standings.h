// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/stream_sink.h"
#include "base/alarm.h"
#include "base/task.h"
#include "kube/informer.h"
#include "kube/objects/launcher_pod.h"

namespace scout::aggregator {

/// Tells agents what the kubelet ranks the launchers on their nodes by, which only the API server
/// knows: each agent of its own node alone, the whole list, once launchers are followed and when it
/// has changed. An agent that does not read is told the latest state when it does.
///
/// Holds a pointer for each launcher that runs or will; a change costs no more than a few look-ups.
/// Loop thread. The launchers must outlive it, and it every session; it adds handlers to them,
/// which run elsewhere.
class LauncherStandings {
public:
    /// `gather`: what changes within that time is one message.
    LauncherStandings(const asio::any_io_executor& loop,
                      kube::Informer<kube::LauncherPod>& launchers,
                      std::chrono::milliseconds gather = std::chrono::seconds{1});

    /// An agent that ranks launchers has said hello, and has proven that it is that node's. The
    /// sink must live until close().
    void open(SessionId session, const std::string& node, SessionSink& sink);
    /// There is room for messages to it again.
    void drained(SessionId session);
    void close(SessionId session);

    /// Tells agents until it is cancelled.
    [[nodiscard]] Task<> run();

    /// Nodes with launchers.
    [[nodiscard]] std::size_t nodes() const noexcept { return by_node_.size(); }

private:
    using Pod = std::shared_ptr<const kube::LauncherPod>;
    using Pods = std::unordered_set<Pod>;
    struct Session {
        std::string node;
        SessionSink* sink;
    };

    void take_change(const kube::Informer<kube::LauncherPod>::Change& change);
    void remove(const Pod& pod);
    void make_due(const std::string& node);
    void tell_due();
    [[nodiscard]] v1::AggregatorMessage message_of(const std::string& node) const;

    asio::any_io_executor loop_;
    kube::Informer<kube::LauncherPod>& launchers_;
    std::chrono::milliseconds gather_;
    Alarm alarm_;
    std::unordered_map<std::string, Pods> by_node_;  ///< those that are to be told
    std::map<SessionId, Session> sessions_;
    std::unordered_map<std::string, SessionId> session_of_;  ///< by node; the latest one
    std::set<SessionId> due_;
};

}  // namespace scout::aggregator
