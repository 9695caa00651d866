// SPDX-License-Identifier: Apache-2.0
// KubeVirt's real definitions and captured nodes on a real API server; definitions of a KubeVirt
// that has the proposals' fields are made of them.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/informer.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/migration.h"
#include "kube/schema.h"
#include "tests/kube/bed_fixture.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/test_data.h"
#include "tests/support/wait_until.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

using Path = std::vector<std::string>;
const Path level{"spec", "configuration", "migrations", "requireHostModelMigratabilityLevel"};
const Path weight{"spec", "configuration", "migrations", "preferedHostModelMigratabilityLevel",
                  "weight"};
const Path term{"spec", "addedNodeSelectorTerm", "matchFields", "key"};

class BedSchemaTest : public test::BedTest {
protected:
    /// The definition as the server has it.
    std::string stored(const std::string& name) {
        return call(client->get({.resource = resources::custom_resource_definitions(),
                                 .object = {.name = name}}))
            .value();
    }
    void add_proposed_fields(const std::string& name) {
        auto definition = json::parse(stored(name)).as_object();
        test::add_proposed_fields(definition);
        done(client->update(
            {.resource = resources::custom_resource_definitions(), .object = {.name = name}},
            json::serialize(definition)));
    }
    /// Whether a dry run is taken, in the end: a definition takes a moment to be in force.
    [[nodiscard]] bool is_taken(const Resource& resource, const std::string& body) {
        return test::wait_until([&] { return attempt(resource, body).has_value(); });
    }
    [[nodiscard]] bool is_refused(const Resource& resource, const std::string& body,
                                  std::string_view why) {
        return test::wait_until([&] {
            const auto answer = attempt(resource, body);
            return !answer && answer.error().text.find(why) != std::string::npos;
        });
    }
    ApiResult<std::string> attempt(const Resource& resource, const std::string& body) {
        const CallOptions dry{.dry_run = true};
        return call(
            client->create({.resource = resource, .object = {.space = "default"}}, body, dry));
    }
    [[nodiscard]] FieldFate fate(const std::string& name, const Path& path) {
        return field_fate(stored(name), "v1", path).value();
    }
};

const std::string asking = R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt",
        "metadata":{"name":"kubevirt"},"spec":{"configuration":{"migrations":{
        "requireHostModelMigratabilityLevel":7,
        "preferedHostModelMigratabilityLevel":{"level":9,"weight":3}}}}})";
const std::string moving = R"({"apiVersion":"kubevirt.io/v1",
        "kind":"VirtualMachineInstanceMigration","metadata":{"name":"m"},
        "spec":{"vmiName":"v","addedNodeSelectorTerm":{"matchFields":[
        {"key":"metadata.name","operator":"In","values":["n1"]}]}}})";

TEST_F(BedSchemaTest, TellsStockKubevirtFromOneWithTheProposedFields) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const std::string kubevirt = "kubevirts.kubevirt.io";
    const std::string migration = "virtualmachineinstancemigrations.kubevirt.io";
    for (auto& [name, definition] : test::kubevirt_definitions(data)) {
        create(resources::custom_resource_definitions(), "", std::move(definition));
    }

    EXPECT_EQ(fate(kubevirt, level), FieldFate::pruned);
    EXPECT_EQ(fate(migration, term), FieldFate::pruned);
    EXPECT_EQ(fate(migration, {"spec", "addedNodeSelector"}), FieldFate::declared);
    EXPECT_TRUE(is_refused(resources::kubevirts(), asking, "unknown field")) << asking;
    EXPECT_TRUE(is_refused(resources::migrations(), moving, "unknown field")) << moving;

    add_proposed_fields(kubevirt);
    add_proposed_fields(migration);

    EXPECT_EQ(fate(kubevirt, level), FieldFate::declared);
    EXPECT_EQ(fate(kubevirt, weight), FieldFate::declared);
    EXPECT_EQ(fate(migration, term), FieldFate::declared);
    EXPECT_TRUE(is_taken(resources::migrations(), moving));
    ASSERT_TRUE(is_taken(resources::kubevirts(), asking));
    done(client->create({.resource = resources::kubevirts(), .object = {.space = "default"}},
                        asking));
    Informer<KubeVirt> informer(*transport, clock, {.resource = resources::kubevirts()},
                                &decode_kubevirt);
    test::Background background(loop);
    background.spawn([&informer] { return informer.run(); });
    ASSERT_TRUE(run_until([&] { return informer.synced(); }));
    const auto read = informer.find("default", "kubevirt");
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->levels.required, 7);
    EXPECT_EQ(read->levels.prefered, (PreferredLevel{.level = 9, .weight = 3}));
}

TEST_F(BedSchemaTest, CapturedNodesComeBackAsTheyWere) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    auto captured = test::captured_nodes(data);
    for (auto& [name, node] : captured) {
        node.at("metadata").at("labels").as_object()["test"] = "captured";
        create(resources::nodes(), "", node);
    }

    Informer<Node> informer(
        *transport, clock,
        {.resource = resources::nodes(), .selection = {.labels = "test=captured"}}, &decode_node);
    test::Background background(loop);
    background.spawn([&informer] { return informer.run(); });
    ASSERT_TRUE(run_until([&] { return informer.synced(); }));

    EXPECT_EQ(informer.size(), captured.size());
    for (const auto& [name, node] : captured) {
        const auto found = informer.find("", name);
        ASSERT_NE(found, nullptr) << name;
        json::object labels;
        for (const auto& [key, value] : found->labels) {
            labels[std::string{key.view()}] = value.view();
        }
        EXPECT_EQ(labels, node.at("metadata").at("labels")) << name;
        EXPECT_EQ(found->conditions.empty(), test::at(node, "/status/conditions/0").is_null())
            << name;
    }
}

}  // namespace
}  // namespace scout::kube
