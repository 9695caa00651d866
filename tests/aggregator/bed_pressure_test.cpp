// SPDX-License-Identifier: Apache-2.0
// Moves ahead of pressure on a real API server: an agent tells what it expects of its node, and the
// leader makes the migration that its own webhook lets pass.
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "base/base64.h"
#include "cluster/target_term.h"
#include "migration/requester.h"
#include "tests/aggregator/bed_moving_fixture.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
namespace v1 = virt_scout::v1;
using testing::SizeIs;
using testing::StartsWith;

class BedPressureTest : public BedMovingTest {
protected:
    void SetUp() override {
        BedMovingTest::SetUp();
        if (side) {
            lead_webhooks_here();
            done(client->merge_patch(config(), R"({"spec":{"pressure":{"mode":"act"}}})"));
        }
    }
    void TearDown() override {
        // Nobody answers there any more, and other tests make migrations too.
        if (side) {
            static_cast<void>(call(client->remove(webhooks(), {})));
        }
        BedMovingTest::TearDown();
    }

    [[nodiscard]] static kube::Target webhooks() {
        return {.resource = {.group = "admissionregistration.k8s.io",
                             .version = "v1",
                             .plural = "mutatingwebhookconfigurations",
                             .kind = "MutatingWebhookConfiguration",
                             .namespaced = false},
                .object = {.space = {}, .name = "virt-scout-target"}};
    }
    /// No Service leads to anybody, and the leader fills in its authority when it looks next.
    void lead_webhooks_here() {
        const auto authority =
            done(client->get({.resource = kube::resources::config_maps(),
                              .object = {.space = "virt-scout", .name = "virt-scout-ca"}}));
        const auto bundle =
            base64_encode(std::string{test::at(authority, "/data/ca.crt").as_string()});
        const auto base = "https://127.0.0.1:" + std::to_string(side->https_port());
        json::array patch;
        for (const auto* const path : {"/target/move", "/target/pod"}) {
            const auto at = "/webhooks/" + std::to_string(patch.size()) + "/clientConfig";
            const json::object here{{"url", base + path}, {"caBundle", bundle}};
            patch.push_back({{"op", "replace"}, {"path", at}, {"value", here}});
        }
        done(client->json_patch(webhooks(), json::serialize(patch)));
    }

    /// Node `one` has less memory from second to second, and `vm` is the first to be evicted.
    void expect_pressure(TalkingAgent& agent, const std::string& vm) {
        constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
        v1::AgentMessage message;
        auto& pressure = *message.mutable_pressure();
        pressure.set_kubelet_known(true);
        auto& line = *pressure.add_thresholds();
        line.set_signal("memory.available");
        line.set_available(2 * gib);
        line.set_capacity(64 * gib);
        line.set_at(gib);
        line.set_reached_in_ms(300'000);
        line.set_confidence(0.95);
        line.set_warned(true);
        auto& order = *pressure.add_order();
        order.set_signal("memory.available");
        auto& first = *order.add_first();
        first.set_vmi(shop + "/" + vm);
        first.set_pod_uid(uid_of_pod(vm));
        first.set_usage(16 * gib);
        agent.say(message);
    }
    [[nodiscard]] json::array moves() {
        const auto all =
            done(client->get_path(kube::collection_path(kube::resources::migrations(), shop)));
        return test::at(all, "/items").as_array();
    }
    /// As KubeVirt makes it; the term is in it before a scheduler sees it.
    [[nodiscard]] json::value make_target(const json::value& move) {
        json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
        pod["metadata"] = {{"name", "virt-launcher-web-target"},
                           {"labels",
                            {{"kubevirt.io", "virt-launcher"},
                             {"kubevirt.io/created-by", uid_of_vm("web")},
                             {"kubevirt.io/migrationJobUID", test::at(move, "/metadata/uid")}}},
                           {"annotations",
                            {{"kubevirt.io/domain", "web"},
                             {"kubevirt.io/migrationJobName", test::at(move, "/metadata/name")}}}};
        pod["spec"] = {{"nodeSelector", test::at(move, "/spec/addedNodeSelector")},
                       {"automountServiceAccountToken", false},
                       {"containers", {{{"name", "compute"}, {"image", "none"}}}}};
        return done(client->create(
            {.resource = kube::resources::pods(), .object = {.space = shop, .name = {}}},
            json::serialize(pod)));
    }
    [[nodiscard]] std::uint64_t counted(ReliefResult result) const {
        return side->facts().relief.results.at(static_cast<std::size_t>(result));
    }
};

TEST_F(BedPressureTest, TheFirstToBeEvictedIsMovedAndItsTargetKeepsAwayFromNodesThatRunShort) {
    auto agent = agent_on(one);
    expect_pressure(*agent, "web");
    const auto is_begun = [this, &agent] {
        agent->beat();
        return counted(ReliefResult::begun) > 0;
    };
    ASSERT_TRUE(run_until(is_begun) || run_until(is_begun))
        << counted(ReliefResult::refused) << " refused, " << counted(ReliefResult::no_webhook)
        << " without webhook, " << counted(ReliefResult::unanswered) << " unanswered";

    ASSERT_THAT(moves(), SizeIs(1));
    const auto made = moves().at(0);
    EXPECT_THAT(std::string{test::at(made, "/metadata/name").as_string()},
                StartsWith(std::string{migration::forecast_move_prefix}));
    EXPECT_EQ(test::at(made, "/spec/vmiName"), "web");
    const auto carried = cluster::read_carried_move(json::serialize(made));
    ASSERT_TRUE(carried) << carried.error().message;
    kube::Node node;
    node.meta.name = one;
    EXPECT_FALSE(cluster::is_asked_for(cluster::asked_of_nodes(*carried), node));
    node.meta.name = two;
    EXPECT_TRUE(cluster::is_asked_for(cluster::asked_of_nodes(*carried), node));
    EXPECT_EQ(carried->sentinel(), cluster::sentinel_of(carried->request.wish.term.value()));

    const auto stored = make_target(made);
    const auto terms = test::at(stored,
                                "/spec/affinity/nodeAffinity/"
                                "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    EXPECT_EQ(json::serialize(terms),
              R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":[")" + one +
                  R"("]}]}])");
    EXPECT_TRUE(test::at(stored, "/spec/nodeSelector/virt-scout.io~1target-term").is_null());

    // It is told again, and nothing more is done before that move has ended.
    expect_pressure(*agent, "web");
    ASSERT_TRUE(run_until([this] { return side->facts().relief.pressed == 1; }));
    EXPECT_EQ(counted(ReliefResult::begun), 1U);
    EXPECT_TRUE(test::at(vmi("web"), "/status/evacuationNodeName").is_null()) << "no eviction";
}

}  // namespace
}  // namespace scout::aggregator
