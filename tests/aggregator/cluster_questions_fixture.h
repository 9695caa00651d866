// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "aggregator/cluster_objects.h"
#include "aggregator/cluster_questions.h"
#include "base/task_scope.h"
#include "cli/api_client.h"
#include "cluster/hook_plugin.h"
#include "kube/client.h"
#include "kube/leader_elector.h"
#include "kube/lease_client.h"
#include "tests/aggregator/host_model_objects.h"
#include "tests/kube/transport_fixture.h"
#include "tests/support/scripted_transport.h"

/// What users of a cluster ask, before an API server of the test.
namespace scout::aggregator {

namespace json = boost::json;
using scout::test::FakeServer;
using scout::test::Peer;
using scout::test::SeenRequest;

inline std::string object_text(json::object metadata, json::object rest) {
    metadata["uid"] = "uid of " + std::string(metadata["name"].as_string());
    metadata["resourceVersion"] = "5";
    rest["metadata"] = std::move(metadata);
    return json::serialize(rest);
}

inline std::string node(const std::string& name, const std::string& feature) {
    return object_text({{"name", name}, {"labels", node_labels("amd64", feature)}}, {});
}

inline std::string vmi(const std::string& name, const std::string& node, const std::string& phase) {
    return object_text(
        {{"name", name}, {"namespace", "shop"}},
        {{"spec",
          {{"evictionStrategy", "LiveMigrate"},
           {"domain", {{"cpu", {{"model", "host-model"}}}, {"memory", {{"guest", "1Gi"}}}}}}},
         {"status",
          {{"phase", phase},
           {"nodeName", node},
           {"conditions", {{{"type", "LiveMigratable"}, {"status", "True"}}}}}}});
}

inline std::string kubevirt() {
    return object_text(
        {{"name", "kubevirt"}, {"namespace", "kubevirt"}},
        {{"spec",
          {{"configuration",
            {{"developerConfiguration", {{"featureGates", json::array{"Plugins"}}}}}}}},
         {"status", {{"phase", "Deployed"}}}});
}

/// Ours, by which nobody is asked on that node.
inline std::string plugin(const std::string& left_out) {
    return object_text({{"name", cluster::hook_plugin_name}},
                       {{"spec",
                         {{"nodeHooks",
                           {{{"socket", cluster::hook_socket},
                             {"condition", cluster::hook_condition({left_out})}}}}}}});
}

struct Stored {
    std::string_view plural;
    std::vector<std::string> objects;
};

/// Objects of a shop, the host-model guests of whose nodes east and north can go to each other.
class Shop {
public:
    /// Nobody may read that kind any more once it has been read. Before anybody asks.
    void take_away(std::string_view plural) { taken_away_ = plural; }

    bool answer(Peer& peer, const SeenRequest& request) const {
        for (const auto& kind : kinds_) {
            if (request.target.find("/" + std::string{kind.plural} + "?") == std::string::npos) {
                continue;
            }
            const bool taken_away = kind.plural == taken_away_;
            if (taken_away && taken_away_asked_++ > 0) {
                peer.say(scout::test::answer(403, scout::test::status_json(403, "Forbidden"),
                                             "Connection: close\r\n"));
                return false;  // the loop would wait for one that is kept
            }
            peer.say(scout::test::chunked_head());
            for (const auto& object : kind.objects) {
                peer.say(scout::test::chunk(scout::test::watch_line("ADDED", object) + "\n"));
            }
            peer.say(scout::test::chunk(scout::test::bookmark_line("9", true) + "\n"));
            if (taken_away) {
                peer.say(scout::test::chunk(""));
                return false;
            }
            peer.stay_silent();
            return false;
        }
        peer.say(scout::test::answer(404, scout::test::status_json(404, "NotFound")));
        return true;
    }

private:
    std::string taken_away_;
    mutable std::atomic<unsigned> taken_away_asked_{0};
    std::vector<Stored> kinds_{
        {"nodes", {node("east", "x"), node("north", "x"), node("west", "y")}},
        {"kubevirts", {kubevirt()}},
        {"scoutconfigs", {}},
        {"virtualmachineinstances",
         {vmi("web", "east", "Running"), vmi("done", "east", "Succeeded"),
          vmi("lost", "west", "Running")}},
        {"virtualmachineinstancemigrations", {}},
        {"pods", {}},
        {"cpuprofiles", {}},
        {"migrationpolicies", {}},
        {"namespaces", {}},
        {"plugins", {plugin("west")}}};
};

class ClusterQuestionsFixture : public kube::TransportFixture {
protected:
    ~ClusterQuestionsFixture() override { scout::test::run_to_end(loop, scope.close()); }

    void read_all() {
        objects.follow_vms();
        objects.start(scope);
        turn_until([this] { return is_all_read(); });
    }
    [[nodiscard]] bool is_all_read() const {
        return objects.nodes.synced() && settings.synced() && objects.vmis.synced() &&
               objects.migrations.synced() && objects.launchers.synced() &&
               objects.cpu_profiles.synced() && objects.policies.synced() &&
               objects.namespaces.synced() && objects.plugins.synced();
    }

    void turn_until(const std::function<bool()>& done) {
        const auto end = clock.steady() + long_enough;
        while (!done() && clock.steady() < end) {
            loop.restart();
            loop.run_for(std::chrono::milliseconds{5});
        }
        EXPECT_TRUE(done());
    }

    Result<std::string> ask(Question question) {
        return scout::test::run_until_done(loop, questions.answer(std::move(question)));
    }

    /// scoutctl, to which somebody gives this answer.
    static std::unique_ptr<fleet::Fleet> reader_of(FakeServer& api, const Clock& clock) {
        return cli::open_api_fleet(access_to(api.port()), clock, long_enough);
    }
    static FakeServer::Handler saying(std::string text) {
        return [text = std::move(text)](Peer& peer, const SeenRequest& /*request*/) {
            peer.say(scout::test::answer(200, text));
            return true;
        };
    }

    Shop shop;
    FakeServer server{
        [this](Peer& peer, const SeenRequest& request) { return shop.answer(peer, request); }};
    TaskScope scope{loop.get_executor()};
    BlockingPool pool{2};
    kube::HttpTransport transport{loop.get_executor(), access_to(server.port()), clock};
    kube::Client client{transport, clock, {}};
    ClusterObjects objects{transport, clock, [] { return kube::ReflectorSettings{}; }};
    kube::ClientLease lease{client, {.space = "scout", .name = "lease"}};
    kube::LeaderElector elector{lease, clock, {.identity = "me"}, 1};
    LiveSettings settings{
        loop.get_executor(),
        {.configs = objects.configs, .kubevirts = objects.kubevirts, .elector = elector},
        client,
        clock,
        cluster::level_settings({})};
    CauseHistory history;
    bool leads = true;
    ClusterQuestions questions{{.objects = objects,
                                .settings = settings,
                                .history = history,
                                .leads = [this] { return leads; }},
                               {},
                               pool,
                               clock};
};

}  // namespace scout::aggregator
