// SPDX-License-Identifier: Apache-2.0
// Policies with an expiry, on a real API server, under the rights and fences of the manifests.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include "aggregator/cluster_side.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/test_data.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr const char* space = "virt-scout";

class BedTunedPoliciesTest : public BedClusterTest {
protected:
    void SetUp() override {
        SCOUT_BED_OR_SKIP();
        SCOUT_TEST_DATA_OR_SKIP(data);
        BedClusterTest::SetUp();
        serve_kubevirt(data);
        for (const auto& file : manifest_files()) {
            apply_manifest(file);
        }
    }
    void put(const std::string& name, json::object labels, std::chrono::seconds ends_in) {
        create(kube::resources::migration_policies(), {},
               {{"metadata",
                 {{"name", name},
                  {"labels", std::move(labels)},
                  {"annotations", {{"virt-scout.io/expires", rfc3339(clock.wall() + ends_in)}}}}},
                {"spec", {{"allowAutoConverge", true}, {"selectors", json::object{}}}}});
    }
    [[nodiscard]] bool is_there(const std::string& name) {
        const auto answer = call(client->get({.resource = kube::resources::migration_policies(),
                                              .object = {.space = {}, .name = name}}));
        return answer || answer.error().status != 404;
    }
    [[nodiscard]] std::unique_ptr<ClusterSide> start_one() {
        return start(scout::test::with_token(access, token_of(space, "virt-scout-aggregator", {})),
                     space, {}, [](ClusterSide& made) { made.record_causes(); });
    }
    [[nodiscard]] bool leads(const std::unique_ptr<ClusterSide>& side) {
        return run_until([&side] { return side->facts().leads && side->facts().synced; });
    }

    const json::object tune{{"virt-scout.io/tune", "true"}};
};

TEST_F(BedTunedPoliciesTest, OneGoesWhenItsTimeIsOverAndThoseOfOthersStay) {
    put("bed-missed", tune, -1h);
    put("bed-later", tune, 1h);
    put("bed-theirs", {{"virt-scout.io/tune", "false"}}, -1h);
    auto side = start_one();
    ASSERT_TRUE(leads(side));

    put("bed-soon", tune, 3s);
    EXPECT_TRUE(is_there("bed-soon"));

    EXPECT_TRUE(run_until([this] { return !is_there("bed-missed"); })) << "nobody led then";
    EXPECT_TRUE(run_until([this] { return !is_there("bed-soon"); }));
    EXPECT_TRUE(is_there("bed-later"));
    EXPECT_TRUE(is_there("bed-theirs"));
    stop(std::move(side));
}

TEST_F(BedTunedPoliciesTest, AnotherLeaderEndsWhatItDidNotSeeBegin) {
    auto first = start_one();
    ASSERT_TRUE(leads(first));
    put("bed-handed-over", tune, 4s);
    auto second = start_one();
    stop(std::move(first));
    ASSERT_TRUE(leads(second));
    EXPECT_TRUE(run_until([this] { return !is_there("bed-handed-over"); }));
    stop(std::move(second));
}

}  // namespace
}  // namespace scout::aggregator
