// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "aggregator/cluster_objects.h"
#include "aggregator/evacuation_desk.h"
#include "aggregator/hook_keeper.h"
#include "aggregator/live_settings.h"
#include "kube/event_recorder.h"
#include "kube/leader_elector.h"
#include "tests/aggregator/fake_api.h"
#include "tests/support/fake_clock.h"

namespace scout::aggregator {

/// What agents are sent, and whether they read it.
class ReadingSink final : public SessionSink {
public:
    [[nodiscard]] bool has_room(SessionId session) const override {
        return room == 0 || unread.find(session) == unread.end() || unread.at(session) < room;
    }
    void send(SessionId session, const v1::AggregatorMessage& message) override {
        sent[session].push_back(message);
        ++unread[session];
    }
    void end(SessionId session, const Error& why) override { ended.emplace(session, why); }

    std::size_t room = 0;  ///< unread messages of a session until it has no room; 0: no limit
    std::map<SessionId, std::size_t> unread;
    std::map<SessionId, std::vector<v1::AggregatorMessage>> sent;
    std::map<SessionId, Error> ended;
};

/// A lease that is free, and then ours until it is taken away.
class FakeLease final : public kube::LeasePort {
public:
    [[nodiscard]] Task<Result<std::optional<kube::StoredLease>>> read(
        std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::optional<kube::StoredLease>>> create(
        kube::LeaseRecord record, std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::optional<kube::StoredLease>>> update(
        kube::StoredLease lease, std::chrono::milliseconds limit) override;

    bool away = false;

private:
    std::optional<kube::StoredLease> stored_;
    int version_ = 0;
};

class RecordedEvents final : public kube::EventPort {
public:
    [[nodiscard]] Task<Status> create(kube::EventRecord record) override;
    [[nodiscard]] Task<Status> update(kube::EventRecord record) override;

    std::vector<kube::EventRecord> records;
    std::vector<kube::EventRecord> again;  ///< those of before that happened once more
};

/// The leader's side of moving VMs, before an API server of the test: VM shop/web (uid u1) runs on
/// node n1 by the pod of uid p1, in mode act.
class MoverFixture : public ::testing::Test {
protected:
    MoverFixture();
    ~MoverFixture() override;
    MoverFixture(const MoverFixture&) = delete;
    MoverFixture& operator=(const MoverFixture&) = delete;
    MoverFixture(MoverFixture&&) = delete;
    MoverFixture& operator=(MoverFixture&&) = delete;

    /// Ends what runs while what a derived fixture let run is still there.
    void TearDown() override;

    /// Runs all; returns when it leads and all has been listed.
    void start();
    /// Runs the loop until it holds, at most 10 s. True once it does.
    [[nodiscard]] bool run_until(const std::function<bool()>& condition);
    /// Lets everything happen that is due.
    void settle();
    void lose_leadership();

    void put_vmi(const std::string& name, const std::string& node, boost::json::object status = {},
                 boost::json::object metadata = {});
    void put_pod(const std::string& name, const std::string& vmi, const std::string& node,
                 const std::string& migration_uid = {});
    /// VMs on node n1 with their launchers; their names.
    [[nodiscard]] std::vector<std::string> put_two_hundred();
    void put_move(const std::string& name, const std::string& vmi, const std::string& phase);
    void put_config(boost::json::object evacuation);
    void put_kubevirt(boost::json::object configuration);
    void put_node(const std::string& name);

    void open(SessionId session, const std::string& node, bool hook_served = true);
    void name(SessionId session, const std::string& state = "held",
              const std::vector<std::string>& vmis = {"web"},
              const std::string& reason = "because of a test");
    void order(SessionId session, std::uint64_t id, const std::string& step,
               const std::string& object = {}, const std::string& vmi = "web");
    /// The results that were sent to a session, by the orders' ids.
    [[nodiscard]] std::map<std::uint64_t, v1::EvacuationResult> results(SessionId session) const;
    [[nodiscard]] std::vector<v1::EvacuationFacts> facts(SessionId session) const;
    [[nodiscard]] std::vector<v1::EvacuationRules> rules(SessionId session) const;
    /// Its result once it is there.
    [[nodiscard]] v1::EvacuationResult result(SessionId session, std::uint64_t id);
    /// "POST /api/…", of all calls but those about the settings and the node hook.
    [[nodiscard]] std::vector<std::string> calls() const;

    boost::asio::io_context loop{1};
    test::FakeClock clock;
    FakeApi api{loop.get_executor()};
    kube::Client client{api, clock, {.rate = {.urgent_per_second = 1e6, .urgent_burst = 1e6}}};
    ClusterObjects objects{
        api, clock,
        [] { return kube::ReflectorSettings{.slow_retry = std::chrono::milliseconds{50}}; }};
    FakeLease lease;
    /// Time may pass by minutes and it still leads.
    kube::LeaderElector elector{lease,
                                clock,
                                {.identity = "me",
                                 .duration = std::chrono::hours{2},
                                 .renew_deadline = std::chrono::hours{1},
                                 .retry = std::chrono::seconds{1}},
                                1};
    LiveSettings settings{
        loop.get_executor(),
        {.configs = objects.configs, .kubevirts = objects.kubevirts, .elector = elector},
        client,
        clock,
        {}};
    RecordedEvents recorded;
    kube::EventRecorder events{loop.get_executor(), recorded, clock, 1};
    ReadingSink sink;
    std::optional<EvacuationDesk> desk;
    std::optional<HookKeeper> hook;
    std::optional<TaskScope> scope;
};

}  // namespace scout::aggregator
