// SPDX-License-Identifier: Apache-2.0
// Single calls to a real API server.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "tests/kube/bed_fixture.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using test::at;
using testing::HasSubstr;

const Resource config_maps = test::core("configmaps", "ConfigMap");

class BedClientTest : public test::BedTest {
protected:
    void SetUp() override {
        BedTest::SetUp();
        if (client) {
            space = new_space();
        }
    }

    [[nodiscard]] Target map(const std::string& name) const {
        return {.resource = config_maps, .object = {.space = space, .name = name}};
    }
    [[nodiscard]] Target maps() const {
        return {.resource = config_maps, .object = {.space = space}};
    }
    [[nodiscard]] static std::string body(const std::string& name, const json::object& data) {
        return json::serialize(json::object{{"apiVersion", "v1"},
                                            {"kind", "ConfigMap"},
                                            {"metadata", {{"name", name}}},
                                            {"data", data}});
    }

    std::string space;
};

TEST_F(BedClientTest, CreatesReadsUpdatesAndDeletes) {
    const auto created = done(client->create(maps(), body("a", {{"k", "1"}})));
    const auto read = done(client->get(map("a")));
    EXPECT_EQ(read, created);

    auto stored = read.as_object();
    stored["data"] = {{"k", "2"}};
    const auto text = json::serialize(stored);
    EXPECT_EQ(at(done(client->update(map("a"), text)), "/data/k"), "2");
    const auto late = call(client->update(map("a"), text));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().status, 409U);
    EXPECT_EQ(late.error().reason, "Conflict");
    EXPECT_EQ(late.error().error.code, Errc::refused);

    const auto other = call(client->remove(map("a"), {.uid = "another"}));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().status, 409U);
    const std::string uid{at(read, "/metadata/uid").as_string()};
    done(client->remove(map("a"), {.uid = uid}));
    const auto gone = call(client->get(map("a")));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().error.code, Errc::not_found);
    EXPECT_EQ(gone.error().error.message,
              "get configmaps " + space + "/a: HTTP 404 NotFound: configmaps \"a\" not found");
}

TEST_F(BedClientTest, SaysThatAnObjectIsThereAlready) {
    done(client->create(maps(), body("a", {})));

    const auto again = call(client->create(maps(), body("a", {})));

    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().reason, "AlreadyExists");
    EXPECT_THAT(again.error().error.message,
                HasSubstr("create configmaps in namespace " + space + ": HTTP 409 AlreadyExists"));
}

TEST_F(BedClientTest, PatchesByMergeAndStepByStep) {
    done(client->create(maps(), body("a", {{"k", "1"}, {"l", "1"}})));

    const auto merged = done(client->merge_patch(map("a"), R"({"data":{"k":null,"m":"2"}})"));
    EXPECT_EQ(at(merged, "/data"), (json::object{{"l", "1"}, {"m", "2"}}));

    const auto stepped =
        done(client->json_patch(map("a"), R"([{"op":"test","path":"/data/m","value":"2"},
                                              {"op":"replace","path":"/data/m","value":"3"}])"));
    EXPECT_EQ(at(stepped, "/data/m"), "3");
    const auto failed =
        call(client->json_patch(map("a"), R"([{"op":"test","path":"/data/m","value":"2"},
                                              {"op":"replace","path":"/data/m","value":"4"}])"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().status, 422U);
    EXPECT_EQ(failed.error().error.code, Errc::invalid);
    EXPECT_EQ(at(done(client->get(map("a"))), "/data/m"), "3");
}

TEST_F(BedClientTest, ApplyNamesTheManagerThatOwnsAField) {
    const ApplyOptions first{.manager = "first"};
    const ApplyOptions second{.manager = "second"};
    const ApplyOptions stronger{.manager = "second", .force = true};
    done(client->apply(map("a"), body("a", {{"k", "1"}, {"l", "1"}}), first));

    const auto conflict = call(client->apply(map("a"), body("a", {{"k", "2"}}), second));

    ASSERT_FALSE(conflict);
    EXPECT_EQ(conflict.error().status, 409U);
    ASSERT_EQ(conflict.error().conflicts.size(), 1U);
    EXPECT_EQ(conflict.error().conflicts[0].manager, "first");
    EXPECT_EQ(conflict.error().conflicts[0].field, ".data.k");
    EXPECT_THAT(conflict.error().error.message, HasSubstr("first"));
    const auto taken = done(client->apply(map("a"), body("a", {{"k", "2"}}), stronger));
    EXPECT_EQ(at(taken, "/data"), (json::object{{"k", "2"}, {"l", "1"}}));
    const auto released = done(client->apply(map("a"), body("a", {{"k", "2"}}), first));
    EXPECT_EQ(at(released, "/data"), (json::object{{"k", "2"}}));
}

TEST_F(BedClientTest, ApplyNamesAManagerThatNeverApplied) {
    done(client->create(maps(), body("a", {{"k", "1"}})));

    const auto conflict =
        call(client->apply(map("a"), body("a", {{"k", "2"}}), ApplyOptions{.manager = "late"}));

    ASSERT_FALSE(conflict);
    ASSERT_EQ(conflict.error().conflicts.size(), 1U);
    EXPECT_THAT(conflict.error().conflicts[0].manager, HasSubstr("virt-scout"));
}

TEST_F(BedClientTest, ADryRunStoresNothing) {
    const CallOptions dry{.dry_run = true};
    done(client->create(maps(), body("kept", {{"k", "1"}})));

    EXPECT_EQ(at(done(client->create(maps(), body("a", {}), dry)), "/metadata/name"), "a");
    EXPECT_EQ(at(done(client->merge_patch(map("kept"), R"({"data":{"k":"2"}})", dry)), "/data/k"),
              "2");
    done(client->apply(map("b"), body("b", {}), {}, dry));
    done(client->remove(map("kept"), {}, dry));

    EXPECT_EQ(call(client->get(map("a"))).error().status, 404U);
    EXPECT_EQ(call(client->get(map("b"))).error().status, 404U);
    EXPECT_EQ(at(done(client->get(map("kept"))), "/data/k"), "1");
}

TEST_F(BedClientTest, AFieldThatNobodyKnowsIsRefusedAndNamed) {
    const auto refused = call(client->create(
        maps(),
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"dta":{"k":"1"}})"));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.code, Errc::invalid);
    EXPECT_THAT(refused.error().error.message, HasSubstr(R"(unknown field "dta")"));
    EXPECT_EQ(call(client->get(map("a"))).error().status, 404U);
}

/// Evictions, of a pod that counts as running.
class BedEvictionTest : public BedClientTest {
protected:
    void SetUp() override {
        BedClientTest::SetUp();
        if (!client) {
            return;
        }
        const json::object container{{"name", "c"}, {"image", "none"}};
        create(resources::pods(), space,
               {{"metadata", {{"name", "p"}, {"labels", {{"app", "p"}}}}},
                {"spec", {{"containers", json::array{container}}}}});
        auto status = pod();
        status.subresource = "status";
        done(client->merge_patch(std::move(status), R"({"status":{"phase":"Running"}})"));
    }

    [[nodiscard]] Target pod() const {
        return {.resource = resources::pods(), .object = {.space = space, .name = "p"}};
    }
};

TEST_F(BedEvictionTest, EvictsThePodThatIsMeant) {
    const CallOptions dry{.dry_run = true};
    const std::string uid{at(done(client->get(pod())), "/metadata/uid").as_string()};

    EXPECT_EQ(call(client->evict(pod().object, {.uid = "another"})).error().status, 409U);
    done(client->evict(pod().object, {.uid = uid}, dry));
    EXPECT_TRUE(call(client->get(pod())));
    done(client->evict(pod().object, {.uid = uid}));
    EXPECT_EQ(call(client->get(pod())).error().status, 404U);
}

TEST_F(BedEvictionTest, ABudgetIsAnAnswerThatIsNotRepeated) {
    const Resource budgets{.group = "policy",
                           .version = "v1",
                           .plural = "poddisruptionbudgets",
                           .kind = "PodDisruptionBudget"};
    create(budgets, space,
           {{"metadata", {{"name", "b"}}},
            {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "p"}}}}}}}});

    const auto refused = call(client->evict(pod().object, {}));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 429U);
    EXPECT_THAT(refused.error().text, HasSubstr("budget"));
    EXPECT_THAT(refused.error().error.message, HasSubstr("create pods/eviction " + space + "/p"));
    EXPECT_EQ(client->repeated(), 0U);
}

}  // namespace
}  // namespace scout::kube
