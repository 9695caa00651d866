// SPDX-License-Identifier: Apache-2.0
// Moving VMs on a real API server with KubeVirt's definitions and our own manifests, ordered by an
// agent over gRPC that shows the token of its pod. Without KubeVirt an eviction is one.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "aggregator/agents_port.h"
#include "aggregator/fleet.h"
#include "base/files.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "daemon/listener.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "virt_scout/v1/report.grpc.pb.h"
#include "wire/endpoint.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
namespace v1 = virt_scout::v1;
using testing::HasSubstr;
using namespace std::chrono_literals;
using Result = v1::EvacuationResult;

constexpr const char* space = "virt-scout";

/// One agent's stream; what it hears is read by a thread of its own.
class TalkingAgent {
public:
    TalkingAgent(const std::shared_ptr<grpc::Channel>& channel, const std::string& token,
                 const std::string& node)
        : stub_(v1::Reports::NewStub(channel)) {
        context_.set_deadline(std::chrono::system_clock::now() + 60s);
        context_.AddMetadata("authorization", "Bearer " + token);
        context_.set_wait_for_ready(true);
        stream_ = stub_->Report(&context_);
        v1::AgentMessage hello;
        hello.mutable_hello()->set_node(node);
        hello.mutable_hello()->set_host_identity("host of " + node);
        hello.mutable_hello()->set_follows_launchers(true);
        stream_->Write(hello);
        v1::AgentMessage answering;
        answering.mutable_evacuations()->set_hook_served(true);
        stream_->Write(answering);
        reader_ = std::thread([this] {
            v1::AggregatorMessage message;
            while (stream_->Read(&message)) {
                const std::lock_guard lock(lock_);
                heard_.push_back(message);
            }
        });
    }
    ~TalkingAgent() {
        context_.TryCancel();
        reader_.join();
        static_cast<void>(stream_->Finish());
    }
    TalkingAgent(const TalkingAgent&) = delete;
    TalkingAgent& operator=(const TalkingAgent&) = delete;
    TalkingAgent(TalkingAgent&&) = delete;
    TalkingAgent& operator=(TalkingAgent&&) = delete;

    void say(const v1::AgentMessage& message) { stream_->Write(message); }
    /// Every five seconds, as often as it is asked.
    void beat() {
        const auto now = std::chrono::steady_clock::now();
        if (now - beat_ >= 5s) {
            beat_ = now;
            v1::AgentMessage message;
            message.mutable_heartbeat();
            say(message);
        }
    }
    [[nodiscard]] std::vector<v1::AggregatorMessage> heard() const {
        const std::lock_guard lock(lock_);
        return heard_;
    }

private:
    std::unique_ptr<v1::Reports::Stub> stub_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::AggregatorMessage>> stream_;
    mutable std::mutex lock_;
    std::vector<v1::AggregatorMessage> heard_;
    std::chrono::steady_clock::time_point beat_{};
    std::thread reader_;
};

class BedMovingTest : public BedClusterTest {
protected:
    void SetUp() override {
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
            create_node(node, {{"kubevirt.io/schedulable", "true"}});
        }
        make_vm("web", one);
        make_vm("db", two);
        make_kubevirt();
        set_mode("act");
        open_up();
    }
    void TearDown() override {
        if (side) {
            call(agents->close());
            stop(std::move(side));
            static_cast<void>(call(client->remove(plugin(), {})));
            static_cast<void>(call(client->remove(config(), {})));
        }
        BedClusterTest::TearDown();
    }

    void make_kubevirt() {
        static_cast<void>(call(client->create(
            {.resource = kube::resources::kubevirts(), .object = {.space = space, .name = {}}},
            R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt"},)"
            R"("spec":{"configuration":{"developerConfiguration":{"featureGates":["Plugins"]}}},)"
            R"("status":{"phase":"Deployed"}})")));
    }
    void set_mode(const std::string& mode, const std::string& escalation = "none") {
        kube::ApplyOptions options{.manager = "test", .force = true};
        const json::object spec{{"evacuation", {{"mode", mode}, {"escalation", escalation}}}};
        const json::object body{{"apiVersion", "virt-scout.io/v1alpha1"},
                                {"kind", "ScoutConfig"},
                                {"metadata", {{"name", "default"}}},
                                {"spec", spec}};
        done(client->apply(config(), json::serialize(body), options));
    }
    void make_vm(const std::string& name, const std::string& node) {
        create(kube::resources::virtual_machine_instances(), shop,
               {{"metadata",
                 {{"name", name}, {"labels", {{"app", name}, {"kubevirt.io/nodeName", node}}}}},
                {"spec",
                 {{"evictionStrategy", "LiveMigrate"},
                  {"terminationGracePeriodSeconds", 77},
                  {"domain", {{"devices", json::object{}}}}}},
                {"status", {{"phase", "Running"}, {"nodeName", node}}}});
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
    [[nodiscard]] json::value read(const kube::Resource& resource, const std::string& name) {
        return done(client->get({.resource = resource, .object = {.space = shop, .name = name}}));
    }
    [[nodiscard]] json::value vmi(const std::string& name) {
        return read(kube::resources::virtual_machine_instances(), name);
    }
    [[nodiscard]] std::string uid_of_vm(const std::string& name) {
        return std::string{test::at(vmi(name), "/metadata/uid").as_string()};
    }
    [[nodiscard]] std::string uid_of_pod(const std::string& vm) {
        return std::string{
            test::at(read(kube::resources::pods(), "virt-launcher-" + vm), "/metadata/uid")
                .as_string()};
    }
    [[nodiscard]] static kube::Target config() {
        return {.resource = kube::resources::scout_configs(),
                .object = {.space = {}, .name = "default"}};
    }
    [[nodiscard]] static kube::Target plugin() {
        return {.resource = kube::resources::plugins(),
                .object = {.space = {}, .name = "virt-scout"}};
    }
    [[nodiscard]] std::string hook_condition() {
        const auto answer = call(client->get(plugin()));
        if (!answer) {
            return "none";
        }
        const auto value = test::at(json::parse(*answer), "/spec/nodeHooks/0/condition");
        return value.is_string() ? std::string{value.as_string()} : "none";
    }

    /// The leader under its own account, and the port of the agents.
    void open_up() {
        auto listener = daemon::Listener::at(loop.get_executor(),
                                             {boost::asio::ip::make_address("127.0.0.1"), 0})
                            .value();
        port_number = listener.address().port();
        listener.close();
        const auto who = test::with_token(access, token_of(space, "virt-scout-aggregator", {}));
        side = start(
            who, space, {.listen = {}, .names = {"127.0.0.1"}, .files = {}},
            [this](ClusterSide& made) {
                auto& desk = made.move_vms();
                port.emplace(
                    loop.get_executor(), pool, fleet, made.token_owners(),
                    made.agent_certificates(),
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
    [[nodiscard]] bool authority_is_there() {
        const auto answer =
            call(client->get({.resource = kube::resources::config_maps(),
                              .object = {.space = space, .name = "virt-scout-ca"}}));
        if (!answer) {
            return false;
        }
        const auto pem = test::at(json::parse(*answer), "/data/ca.crt");
        return pem.is_string() &&
               write_file_atomically(folder.path() / "ca.crt", std::string{pem.as_string()});
    }
    /// With a token of a pod on that node.
    [[nodiscard]] std::unique_ptr<TalkingAgent> agent_on(const std::string& node) {
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
        EXPECT_TRUE(run_until(
            [&channel] { return channel.value()->GetState(true) == GRPC_CHANNEL_READY; }));
        return std::make_unique<TalkingAgent>(channel.value(), token, node);
    }
    void name(TalkingAgent& agent, const std::vector<std::string>& vms,
              const std::string& state = "held") {
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
    [[nodiscard]] Result order(TalkingAgent& agent, const std::string& vm, const std::string& step,
                               const std::string& object = {}) {
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
    /// The last facts; none heard: of no VMI.
    [[nodiscard]] static v1::EvacuationFacts facts(const TalkingAgent& agent) {
        v1::EvacuationFacts facts;
        for (const auto& heard : agent.heard()) {
            if (heard.has_evacuation_facts()) {
                facts = heard.evacuation_facts();
            }
        }
        return facts;
    }
    [[nodiscard]] static v1::EvacuationRules rules(const TalkingAgent& agent) {
        v1::EvacuationRules rules;
        for (const auto& heard : agent.heard()) {
            if (heard.has_evacuation_rules()) {
                rules = heard.evacuation_rules();
            }
        }
        return rules;
    }

    scout::test::TemporaryFolder folder;
    BlockingPool pool{2};
    Fleet fleet{{}, {}, {}, clock};
    std::string shop;
    std::string one;
    std::string two;
    std::uint16_t port_number = 0;
    std::unique_ptr<ClusterSide> side;
    std::optional<AgentsPort> port;
    std::optional<TaskScope> agents;
    std::uint64_t orders = 0;
    int pods = 0;
};

TEST_F(BedMovingTest, AnAgentHearsRulesAndFactsAndHasItsOrdersCarriedOut) {
    auto agent = agent_on(one);
    ASSERT_TRUE(run_until([&] { return rules(*agent).mode() == v1::EvacuationRules::MODE_ACT; }));
    name(*agent, {"web"});
    ASSERT_TRUE(run_until([&] { return facts(*agent).has_vmi(); }));
    EXPECT_EQ(facts(*agent).vmi().node(), one);
    EXPECT_EQ(facts(*agent).vmi().grace_seconds(), 77);
    EXPECT_EQ(facts(*agent).pod().launcher_grace_seconds(), 92);
    EXPECT_TRUE(facts(*agent).moves_known());

    EXPECT_EQ(order(*agent, "web", "read-vmi").vmi().uid(), uid_of_vm("web"));
    // Nobody undoes it here, and our own fence lets it pass.
    EXPECT_EQ(order(*agent, "web", "stamp").outcome(), Result::DONE);
    EXPECT_EQ(test::at(vmi("web"), "/status/evacuationNodeName"), json::value(json::string(one)));
    EXPECT_TRUE(run_until([&] { return facts(*agent).vmi().marked_node() == one; }));
    // Nor does anybody stand in the way of an eviction: so there is none.
    EXPECT_EQ(order(*agent, "web", "dry-run").outcome(), Result::WOULD_EVICT);
    EXPECT_EQ(order(*agent, "web", "evict").outcome(), Result::REFUSED);
    EXPECT_TRUE(
        test::at(read(kube::resources::pods(), "virt-launcher-web"), "/metadata/deletionTimestamp")
            .is_null());

    EXPECT_EQ(order(*agent, "web", "create-move").outcome(), Result::DONE);
    ASSERT_TRUE(run_until([&] { return facts(*agent).moves_size() == 1; }));
    const auto move = facts(*agent).moves(0).name();
    EXPECT_THAT(move, HasSubstr("virt-scout-"));
    EXPECT_EQ(order(*agent, "web", "delete-move", move).outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] { return facts(*agent).moves_size() == 0; }));
    EXPECT_EQ(order(*agent, "web", "touch").outcome(), Result::DONE);
    EXPECT_TRUE(test::at(vmi("web"), "/metadata/annotations/virt-scout.io~1released").is_string());
}

TEST_F(BedMovingTest, AMoveHasAPolicyOfItsOwnUntilItHasEnded) {
    json::object selectors{{"virtualMachineInstanceSelector", {{"kubevirt.io/nodeName", one}}}};
    json::object spec{{"bandwidthPerMigration", "64Mi"}, {"selectors", std::move(selectors)}};
    create(kube::resources::migration_policies(), {},
           {{"metadata", {{"name", shop + "-slow"}}}, {"spec", std::move(spec)}});
    set_mode("act", "pause");
    auto agent = agent_on(one);
    name(*agent, {"web"});
    const auto numbers = [&] { return facts(*agent).numbers(); };
    const auto slow = [&] { return numbers().bandwidth() == 64U << 20U; };
    ASSERT_TRUE(run_until([&] { return rules(*agent).escalation() == "pause" && slow(); }));
    EXPECT_EQ(order(*agent, "web", "escalate", "2").outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] { return numbers().escalated(); }));
    EXPECT_TRUE(numbers().completion_seconds_per_gib() == 2 && slow()) << "copied";
    name(*agent, {"web"}, "given-up");
    EXPECT_TRUE(run_until([&] { return !numbers().escalated(); })) << "removed";
}

TEST_F(BedMovingTest, AnotherNodesVmIsRefused) {
    auto agent = agent_on(one);
    name(*agent, {"web", "db"});
    ASSERT_TRUE(run_until([&] { return facts(*agent).slots() > 0; }));

    const auto refused = order(*agent, "db", "evict");

    EXPECT_EQ(refused.outcome(), Result::REFUSED);
    EXPECT_THAT(refused.text(), HasSubstr("on node " + one));
    EXPECT_EQ(order(*agent, "db", "read-vmi").outcome(), Result::REFUSED);
    EXPECT_EQ(order(*agent, "db", "touch").outcome(), Result::REFUSED);
    EXPECT_TRUE(test::at(vmi("db"), "/metadata/annotations").is_null());
    EXPECT_EQ(side->facts().evacuations.foreign, 3U);
}

TEST_F(BedMovingTest, TheTargetOfItsMigrationMayBeRemovedAndNoOtherPod) {
    const std::string target = "virt-launcher-web-target";
    auto agent = agent_on(one);
    name(*agent, {"web"});
    EXPECT_EQ(order(*agent, "web", "create-move").outcome(), Result::DONE);
    ASSERT_TRUE(run_until([&] { return facts(*agent).moves_size() == 1; }));
    const auto move = facts(*agent).moves(0).name();
    const auto move_uid = std::string{
        test::at(read(kube::resources::migrations(), move), "/metadata/uid").as_string()};
    create(kube::resources::pods(), shop,
           {{"metadata",
             {{"name", target},
              {"labels",
               {{"kubevirt.io", "virt-launcher"},
                {"kubevirt.io/created-by", uid_of_vm("web")},
                {"kubevirt.io/migrationJobUID", move_uid}}},
              {"annotations", {{"kubevirt.io/domain", "web"}}}}},
            {"spec",
             {{"nodeName", two},
              {"terminationGracePeriodSeconds", 0},
              {"automountServiceAccountToken", false},
              {"containers", {{{"name", "compute"}, {"image", "none"}}}}}}});
    const json::object state{
        {"status", {{"migrationState", {{"migrationUid", move_uid}, {"targetPod", target}}}}}};
    done(client->merge_patch({.resource = kube::resources::virtual_machine_instances(),
                              .object = {.space = shop, .name = "web"}},
                             json::serialize(state)));
    ASSERT_TRUE(run_until([&] {
        return facts(*agent).moves_size() == 1 && facts(*agent).moves(0).target_pod() == target;
    }));

    EXPECT_EQ(order(*agent, "web", "delete-target", "virt-launcher-db").outcome(), Result::REFUSED);
    EXPECT_EQ(order(*agent, "web", "delete-target", "virt-launcher-web").outcome(),
              Result::REFUSED);
    EXPECT_EQ(order(*agent, "web", "delete-target", target).outcome(), Result::DONE);
    EXPECT_TRUE(run_until([&] {
        return !call(client->get(
            {.resource = kube::resources::pods(), .object = {.space = shop, .name = target}}));
    }));
}

TEST_F(BedMovingTest, TheHookComesWithAnAgentAndGoesWithTheModeAndLeavesOthersFieldsAlone) {
    EXPECT_EQ(hook_condition(), "none");
    auto agent = agent_on(one);
    // A leader makes none before it has listened for agents long enough.
    const auto is_there = [this, &agent] {
        agent->beat();
        return hook_condition() != "none";
    };
    ASSERT_TRUE(run_until(is_there) || run_until(is_there));
    const auto owner = test::at(done(client->get(plugin())), "/metadata/ownerReferences/0");
    EXPECT_EQ(test::at(owner, "/kind"), "ClusterRole");
    const auto role = done(client->get({.resource = kube::resources::cluster_roles(),
                                        .object = {.space = {}, .name = "virt-scout-aggregator"}}));
    EXPECT_EQ(test::at(owner, "/uid"), test::at(role, "/metadata/uid"));
    // The other node has no agent, which is known once nobody has heard of one for long enough.
    const auto leaves_out_two = [this, &agent] {
        agent->beat();
        return hook_condition().find("\"" + two + "\"") != std::string::npos;
    };
    ASSERT_TRUE(run_until(leaves_out_two) || run_until(leaves_out_two));
    EXPECT_EQ(hook_condition().find("\"" + one + "\""), std::string::npos);

    done(client->merge_patch(plugin(), R"({"metadata":{"labels":{"of":"others"}},)"
                                       R"("spec":{"failureStrategy":"Ignore"}})"));
    done(client->json_patch(
        plugin(), R"([{"op":"replace","path":"/spec/nodeHooks/0/timeout","value":"9s"}])"));
    EXPECT_TRUE(run_until([this] {
        return test::at(done(client->get(plugin())), "/spec/nodeHooks/0/timeout") == "5s";
    })) << "what is ours is put right";
    const auto now = done(client->get(plugin()));
    EXPECT_EQ(test::at(now, "/metadata/labels/of"), "others");
    EXPECT_EQ(test::at(now, "/spec/failureStrategy"), "Ignore");
    const auto reason = [this] {
        return test::at(done(client->get(config())), "/status/conditions/1/reason");
    };
    EXPECT_TRUE(run_until([&reason] { return reason() == "NodeHook"; }));

    set_mode("observe");
    EXPECT_TRUE(run_until([this] { return hook_condition() == "none"; }));
    EXPECT_TRUE(run_until([&reason] { return reason() == "NotActing"; }));
}

}  // namespace
}  // namespace scout::aggregator
