// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/bed_moving_fixture.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "base/files.h"
#include "daemon/listener.h"
#include "tests/support/test_data.h"
#include "wire/endpoint.h"

namespace scout::aggregator {

namespace json = boost::json;
namespace v1 = virt_scout::v1;
using Result = v1::EvacuationResult;

namespace {

constexpr const char* space = "virt-scout";

}  // namespace

void BedMovingTest::SetUp() {
    SCOUT_BED_OR_SKIP();
    SCOUT_TEST_DATA_OR_SKIP(data);
    BedClusterTest::SetUp();
    serve_kubevirt(data);
    for (const auto& file : manifest_files()) {
        apply_manifest(file);
    }
    shop = new_space();
    one = shop + "-one";
    two = shop + "-two";
    for (const auto& node : {one, two}) {
        create(kube::resources::nodes(), "",
               {{"metadata", {{"name", node}, {"labels", {{"kubevirt.io/schedulable", "true"}}}}},
                {"status",
                 {{"conditions",
                   {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}}}});
    }
    make_vm("web", one);
    make_vm("db", two);
    make_kubevirt();
    set_mode("act");
    open_up();
}

void BedMovingTest::TearDown() {
    if (side) {
        call(agents->close());
        stop(std::move(side));
        static_cast<void>(call(client->remove(plugin(), {})));
        static_cast<void>(call(client->remove(config(), {})));
    }
    BedClusterTest::TearDown();
}

void BedMovingTest::make_kubevirt() {
    static_cast<void>(call(client->create(
        {.resource = kube::resources::kubevirts(), .object = {.space = space, .name = {}}},
        R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt"},)"
        R"("spec":{"configuration":{"developerConfiguration":{"featureGates":["Plugins"]}}},)"
        R"("status":{"phase":"Deployed"}})")));
}

void BedMovingTest::set_mode(const std::string& mode, const std::string& escalation) {
    kube::ApplyOptions options{.manager = "test", .force = true};
    const json::object spec{{"evacuation", {{"mode", mode}, {"escalation", escalation}}}};
    const json::object body{{"apiVersion", "virt-scout.io/v1alpha1"},
                            {"kind", "ScoutConfig"},
                            {"metadata", {{"name", "default"}}},
                            {"spec", spec}};
    done(client->apply(config(), json::serialize(body), options));
}

void BedMovingTest::make_vm(const std::string& name, const std::string& node) {
    create(kube::resources::virtual_machine_instances(), shop,
           {{"metadata",
             {{"name", name}, {"labels", {{"app", name}, {"kubevirt.io/nodeName", node}}}}},
            {"spec",
             {{"evictionStrategy", "LiveMigrate"},
              {"terminationGracePeriodSeconds", 77},
              {"domain", {{"devices", json::object{}}}}}},
            {"status",
             {{"phase", "Running"},
              {"nodeName", node},
              {"conditions", {{{"type", "LiveMigratable"}, {"status", "True"}}}}}}});
    create(kube::resources::pods(), shop,
           {{"metadata",
             {{"name", "virt-launcher-" + name},
              {"labels",
               {{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/created-by", uid_of_vm(name)}}},
              {"annotations", {{"kubevirt.io/domain", name}}}}},
            {"spec",
             {{"nodeName", node},
              {"automountServiceAccountToken", false},
              {"containers",
               {{{"name", "compute"},
                 {"image", "none"},
                 {"command", {"launcher", "--grace-period-seconds", "92"}}}}}}}});
}

json::value BedMovingTest::read(const kube::Resource& resource, const std::string& name) {
    return done(client->get({.resource = resource, .object = {.space = shop, .name = name}}));
}

json::value BedMovingTest::vmi(const std::string& name) {
    return read(kube::resources::virtual_machine_instances(), name);
}

std::string BedMovingTest::uid_of_vm(const std::string& name) {
    return std::string{test::at(vmi(name), "/metadata/uid").as_string()};
}

std::string BedMovingTest::uid_of_pod(const std::string& vm) {
    return std::string{
        test::at(read(kube::resources::pods(), "virt-launcher-" + vm), "/metadata/uid")
            .as_string()};
}

kube::Target BedMovingTest::config() {
    return {.resource = kube::resources::scout_configs(),
            .object = {.space = {}, .name = "default"}};
}

kube::Target BedMovingTest::plugin() {
    return {.resource = kube::resources::plugins(), .object = {.space = {}, .name = "virt-scout"}};
}

std::string BedMovingTest::hook_condition() {
    const auto answer = call(client->get(plugin()));
    if (!answer) {
        return "none";
    }
    const auto value = test::at(json::parse(*answer), "/spec/nodeHooks/0/condition");
    return value.is_string() ? std::string{value.as_string()} : "none";
}

void BedMovingTest::open_up() {
    auto listener =
        daemon::Listener::at(loop.get_executor(), {boost::asio::ip::make_address("127.0.0.1"), 0})
            .value();
    port_number = listener.address().port();
    listener.close();
    const auto who = test::with_token(access, token_of(space, "virt-scout-aggregator", {}));
    side = start(
        who, space, {.listen = "127.0.0.1:0", .names = {"127.0.0.1"}, .files = {}},
        [this](ClusterSide& made) {
            auto& desk = made.move_vms();
            made.follow(fleet.registry());
            port.emplace(
                loop.get_executor(), pool, fleet, made.token_owners(), made.agent_certificates(),
                AgentsPort::Settings{
                    .endpoint = {.unix_path = {}, .host = "127.0.0.1", .port = port_number},
                    .security = {.tls = wire::TlsFiles{.ca = {},
                                                       .certificate = folder.path() / "tls.crt",
                                                       .key = folder.path() / "tls.key",
                                                       .side = wire::TlsSide::server},
                                 .plaintext = false,
                                 .server_name = {}},
                    .writes_certificate = true},
                &desk);
            made.on_certificate([this](const auto& pair) { port->use(pair); });
        });
    agents.emplace(loop.get_executor());
    agents->spawn("port", [this] { return port->run(); });
    ASSERT_TRUE(run_until([this] {
        port->should_be_open(side->facts().leads);
        return side->facts().leads && side->facts().synced && authority_is_there();
    }));
}

bool BedMovingTest::authority_is_there() {
    const auto answer = call(client->get({.resource = kube::resources::config_maps(),
                                          .object = {.space = space, .name = "virt-scout-ca"}}));
    if (!answer) {
        return false;
    }
    const auto pem = test::at(json::parse(*answer), "/data/ca.crt");
    return pem.is_string() &&
           write_file_atomically(folder.path() / "ca.crt", std::string{pem.as_string()});
}

std::unique_ptr<TalkingAgent> BedMovingTest::agent_on(const std::string& node) {
    const auto name = "agent-on-" + node + "-" + std::to_string(++pods);
    create(kube::resources::pods(), space,
           {{"metadata", {{"name", name}}},
            {"spec",
             {{"nodeName", node},
              {"serviceAccountName", "virt-scout-agent"},
              {"automountServiceAccountToken", false},
              {"terminationGracePeriodSeconds", 0},
              {"containers", json::array{{{"name", "agent"}, {"image", "none"}}}}}}});
    const auto token = token_of(space, "virt-scout-agent", "virt-scout",
                                {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", name}});
    const auto channel =
        wire::open_channel({.unix_path = {}, .host = "127.0.0.1", .port = port_number},
                           {.tls = wire::TlsFiles{.ca = folder.path() / "ca.crt",
                                                  .certificate = {},
                                                  .key = {},
                                                  .side = wire::TlsSide::client},
                            .plaintext = false,
                            .server_name = {}});
    // Who waits for the port to open in the agent's first word keeps it from opening.
    EXPECT_TRUE(
        run_until([&channel] { return channel.value()->GetState(true) == GRPC_CHANNEL_READY; }));
    return std::make_unique<TalkingAgent>(channel.value(), token, node);
}

void BedMovingTest::name(TalkingAgent& agent, const std::vector<std::string>& vms,
                         const std::string& state) {
    v1::AgentMessage message;
    message.mutable_evacuations()->set_hook_served(true);
    for (const auto& vm : vms) {
        auto& named = *message.mutable_evacuations()->add_evacuations();
        named.set_namespace_(shop);
        named.set_vmi(vm);
        named.set_vmi_uid(uid_of_vm(vm));
        named.set_pod_uid(uid_of_pod(vm));
        named.set_state(state);
        named.set_reason("as a test wants it");
    }
    agent.say(message);
}

Result BedMovingTest::order(TalkingAgent& agent, const std::string& vm, const std::string& step,
                            const std::string& object) {
    v1::AgentMessage message;
    message.mutable_evacuation_order()->set_id(++orders);
    message.mutable_evacuation_order()->set_vmi_uid(uid_of_vm(vm));
    message.mutable_evacuation_order()->set_step(step);
    message.mutable_evacuation_order()->set_object(object);
    agent.say(message);
    Result result;
    EXPECT_TRUE(run_until([&] {
        for (const auto& heard : agent.heard()) {
            if (heard.has_evacuation_result() && heard.evacuation_result().id() == orders) {
                result = heard.evacuation_result();
                return true;
            }
        }
        return false;
    })) << step;
    return result;
}

v1::EvacuationFacts BedMovingTest::facts(const TalkingAgent& agent) {
    v1::EvacuationFacts facts;
    for (const auto& heard : agent.heard()) {
        if (heard.has_evacuation_facts()) {
            facts = heard.evacuation_facts();
        }
    }
    return facts;
}

v1::EvacuationRules BedMovingTest::rules(const TalkingAgent& agent) {
    v1::EvacuationRules rules;
    for (const auto& heard : agent.heard()) {
        if (heard.has_evacuation_rules()) {
            rules = heard.evacuation_rules();
        }
    }
    return rules;
}

}  // namespace scout::aggregator
