// SPDX-License-Identifier: Apache-2.0
// A running kube-scheduler puts pods where we say that they can go, and nowhere if we say nowhere.
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/live.h"
#include "cluster/scheduling_objects.h"
#include "kube/decode_text.h"
#include "migration/scheduling/filters.h"
#include "tests/kube/bed_fixture.h"
#include "tests/support/bed.h"
#include "tests/support/wait_until.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
namespace scheduling = migration::scheduling;
using namespace std::chrono_literals;

constexpr std::uint64_t seed = 20'261'130;
constexpr int pods = 25;

std::unique_ptr<scout::test::Bed> own_bed;

class BedPlacingTest : public test::BedTest {
protected:
    static void SetUpTestSuite() {
        if (!scout::test::bed_program().empty()) {
            own_bed =
                std::make_unique<scout::test::Bed>(scout::test::Bed::Options{.scheduler = true});
        }
    }
    static void TearDownTestSuite() { own_bed.reset(); }

    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        use(*own_bed);
        space = new_space();
        make_node("a", "1", {});
        make_node("b", "1", json::array{taint("dedicated", "vms")});
        make_node("c", "2", {});
        make_node("d", "2", json::array{taint("dedicated", "gpu")});
        make_node("e", "3", {});
    }

    static json::object taint(const std::string& key, const std::string& value) {
        return {{"key", key}, {"value", value}, {"effect", "NoSchedule"}};
    }

    void make_node(const std::string& name, const std::string& zone, json::array taints) {
        create_node(name,
                    {{"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", zone}});
        kube::Target node{.resource = kube::resources::nodes(), .object = {{}, name}};
        // A new node is tainted as not ready, and here is no controller that would end that.
        const json::object spec{{"spec", {{"taints", std::move(taints)}}}};
        done(client->merge_patch(node, json::serialize(spec)));
        node.subresource = "status";
        const json::object room{{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "110"}};
        const json::object status{{"status", {{"capacity", room}, {"allocatable", room}}}};
        done(client->merge_patch(node, json::serialize(status)));
    }

    [[nodiscard]] int between(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random);
    }

    [[nodiscard]] json::object random_pod(int number) {
        const std::string app = between(0, 1) == 0 ? "web" : "db";
        json::object spec{
            {"terminationGracePeriodSeconds", 0},
            {"automountServiceAccountToken", false},
            {"containers",
             json::array{json::object{{"name", "c"},
                                      {"image", "i"},
                                      {"resources",
                                       {{"requests",
                                         {{"cpu", std::to_string(between(1, 5)) + "00m"},
                                          {"memory", std::to_string(between(1, 6)) + "Gi"}}}}}}}}};
        if (between(0, 2) == 0) {
            spec["tolerations"] = json::array{json::object{{"key", "dedicated"},
                                                           {"operator", "Equal"},
                                                           {"value", "vms"},
                                                           {"effect", "NoSchedule"}}};
        }
        if (between(0, 3) == 0) {
            spec["topologySpreadConstraints"] =
                json::array{json::object{{"maxSkew", 1},
                                         {"topologyKey", "topology.kubernetes.io/zone"},
                                         {"whenUnsatisfiable", "DoNotSchedule"},
                                         {"labelSelector", {{"matchLabels", {{"app", app}}}}}}};
        }
        if (between(0, 3) == 0) {
            json::object term{{"topologyKey", "kubernetes.io/hostname"},
                              {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}};
            spec["affinity"] = {{between(0, 1) == 0 ? "podAffinity" : "podAntiAffinity",
                                 {{"requiredDuringSchedulingIgnoredDuringExecution",
                                   json::array{std::move(term)}}}}};
        }
        return {
            {"metadata", {{"name", "pod-" + std::to_string(number)}, {"labels", {{"app", app}}}}},
            {"spec", std::move(spec)}};
    }

    /// Names of nodes to which it can go, by what the API server has now.
    [[nodiscard]] std::set<std::string> places(json::object pod) {
        const auto dump = read_placing_cluster(access, clock, 30s);
        EXPECT_TRUE(dump) << dump.error().message;
        pod["metadata"].as_object()["namespace"] = space;
        auto text = json::serialize(pod);
        const auto wanted = kube::decode_text(text, &decode_scheduled_pod);
        EXPECT_TRUE(wanted) << text;
        const auto cluster = scheduling_cluster(*dump->objects.scheduling, dump->objects.nodes,
                                                dump->objects.namespaces);
        const scheduling::Filters filters(cluster);
        const auto ready = filters.prepare(wanted->pod);
        std::set<std::string> out;
        for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
            if (ready.judge(i).empty()) {
                out.insert(cluster.nodes[i].name);
            }
        }
        return out;
    }

    /// Where the scheduler put it; empty: it says that it cannot.
    [[nodiscard]] std::string decided(const std::string& name) {
        const kube::Target target{.resource = kube::resources::pods(),
                                  .object = {.space = space, .name = name}};
        std::string node;
        const bool settled = scout::test::wait_until([this, &target, &node] {
            const auto pod = done(client->get(target, {}));
            if (const auto* chosen = pod.at("spec").as_object().if_contains("nodeName")) {
                node = chosen->as_string();
                return true;
            }
            const auto* conditions = pod.at("status").as_object().if_contains("conditions");
            return conditions != nullptr &&
                   conditions->as_array().at(0).at("reason") == "Unschedulable";
        });
        EXPECT_TRUE(settled) << name;
        return node;
    }

    std::string space;
    std::mt19937_64 random{seed};
};

TEST_F(BedPlacingTest, TheSchedulerPutsPodsWhereTheyCanGo) {
    int placed = 0;
    int refused = 0;
    for (int i = 0; i < pods; ++i) {
        const auto pod = random_pod(i);
        const auto places = this->places(pod);
        create(kube::resources::pods(), space, pod);
        const auto node = decided("pod-" + std::to_string(i));
        SCOPED_TRACE(json::serialize(pod));
        if (node.empty()) {
            ++refused;
            EXPECT_THAT(places, testing::IsEmpty());
            // It would wait for its place, and come before the next.
            done(client->remove({.resource = kube::resources::pods(),
                                 .object = {.space = space, .name = "pod-" + std::to_string(i)}},
                                {}));
        } else {
            ++placed;
            EXPECT_THAT(places, testing::Contains(node));
        }
    }
    EXPECT_GT(placed, 10);
    EXPECT_GT(refused, 3);
}

}  // namespace
}  // namespace scout::cluster
