// SPDX-License-Identifier: Apache-2.0
// The rights of daemonset/base, each of them missing once.
#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "aggregator/registry.h"
#include "base/offload.h"
#include "cluster/cpu_profile.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/kube/bed_objects.h"
#include "tests/support/profiles.h"
#include "tests/support/test_data.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

/// What is logged while it lives.
class LoggedLines {
public:
    LoggedLines() { spdlog::default_logger()->sinks().push_back(sink_); }
    ~LoggedLines() { std::erase(spdlog::default_logger()->sinks(), sink_); }
    LoggedLines(const LoggedLines&) = delete;
    LoggedLines& operator=(const LoggedLines&) = delete;
    LoggedLines(LoggedLines&&) = delete;
    LoggedLines& operator=(LoggedLines&&) = delete;

    [[nodiscard]] std::string text() const { return lines_.str(); }

private:
    std::ostringstream lines_;
    spdlog::sink_ptr sink_ = std::make_shared<spdlog::sinks::ostream_sink_st>(lines_);
};

/// Aggregators: each has ten connections or more.
constexpr std::size_t at_a_time = 8;

struct Right {
    bool whole_cluster = false;
    std::string verb;
    std::string resource;
    json::object rule;  ///< that gives this right alone
};

/// Those of the aggregator in daemonset/base/roles.yaml, one by one.
std::vector<Right> rights_of_aggregator() {
    std::vector<Right> rights;
    for (const auto& manifest : read_manifest("roles.yaml")) {
        const auto* rules = manifest.body.if_contains("rules");
        if (rules == nullptr || manifest.object.name != "virt-scout-aggregator") {
            continue;
        }
        for (const auto& rule : rules->as_array()) {
            for (const auto& resource : rule.at("resources").as_array()) {
                for (const auto& verb : rule.at("verbs").as_array()) {
                    auto alone = rule.as_object();
                    alone["resources"] = json::array{resource};
                    alone["verbs"] = json::array{verb};
                    rights.push_back({.whole_cluster = manifest.resource.kind == "ClusterRole",
                                      .verb = std::string(verb.as_string()),
                                      .resource = std::string(resource.as_string()),
                                      .rule = std::move(alone)});
                }
            }
        }
    }
    return rights;
}

class BedMissingRightsTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (client) {
            for (const auto* file : {"crds/cpuprofiles.yaml", "crds/scoutconfigs.yaml",
                                     "first-placement.yaml", "policy-lint.yaml", "query.yaml"}) {
                apply_manifest(file);
            }
            apply_manifest(query_api_file);
        }
    }

    /// An aggregator whose account lacks one right.
    struct Lacking {
        Lacking(Right missing, const Clock& clock)
            : right(std::move(missing)), registry({}, clock) {}

        Right right;
        std::string space;
        Registry registry;
        std::unique_ptr<ClusterSide> side;
    };

    /// A namespace whose account has all rights but those.
    std::string space_without(const std::function<bool(const Right&)>& lacks) {
        const auto space = new_space();
        for (const bool whole_cluster : {true, false}) {
            json::array rules;
            for (const auto& right : rights_of_aggregator()) {
                if (right.whole_cluster == whole_cluster && !lacks(right)) {
                    rules.push_back(right.rule);
                }
            }
            grant(space, whole_cluster, std::move(rules));
        }
        return space;
    }
    std::unique_ptr<Lacking> start_without(const Right& missing) {
        return start_without(missing,
                             [&missing](const Right& right) { return right.rule == missing.rule; });
    }
    /// `missing`: the one that is to be told.
    std::unique_ptr<Lacking> start_without(Right missing,
                                           const std::function<bool(const Right&)>& lacks) {
        auto lacking = std::make_unique<Lacking>(std::move(missing), clock);
        lacking->space = space_without(lacks);
        const auto account = test::with_token(access, token_of(lacking->space, "default", {}));
        lacking->side = start(account, lacking->space, {.listen = "127.0.0.1:0"},
                              [this, &lacking](ClusterSide& made) {
                                  made.follow(lacking->registry);
                                  made.answer_users(pool);
                                  static_cast<void>(made.move_vms());
                              });
        return lacking;
    }
    void end(std::unique_ptr<Lacking> lacking) { stop(std::move(lacking->side)); }

    /// Whether log, readiness or certificate tell by name what is missing.
    [[nodiscard]] bool tells(const Lacking& lacking) const {
        const auto facts = lacking.side->facts();
        auto told = log.text() + facts.trouble + facts.leaderless + facts.serving.trouble;
        std::erase_if(told, [](char c) { return c == '"' || c == '\\'; });
        return told.find("system:serviceaccount:" + lacking.space + ":default cannot " +
                         lacking.right.verb + " resource " + lacking.right.resource) !=
               std::string::npos;
    }
    [[nodiscard]] static bool is_one_of(const Right& right,
                                        std::initializer_list<std::string_view> names) {
        const auto name = right.verb + " " + right.resource;
        return std::find(names.begin(), names.end(), name) != names.end();
    }
    /// Without these no label can be kept; another replica's account would lack them as well.
    [[nodiscard]] static bool labels_need(const Right& right) {
        return is_one_of(
            right, {"watch nodes", "patch nodes", "get leases", "create leases", "update leases"});
    }
    /// By whom all is written that somebody else may write. A streamed list is a watch, so the
    /// right to list is not asked for here. Users and agents ask for reviews: bed_query_test.cpp,
    /// bed_tokens_test.cpp; steps of evacuations and the hook need agents: bed_moving_test.cpp.
    [[nodiscard]] static bool is_missed_by_readers(const Right& right) {
        return right.verb != "list" &&
               !is_one_of(right, {"patch nodes", "delete cpuprofiles", "patch scoutconfigs/status",
                                  "create subjectaccessreviews", "create tokenreviews"}) &&
               !is_one_of(right, {"get virtualmachineinstances", "patch virtualmachineinstances",
                                  "get virtualmachineinstancemigrations",
                                  "patch virtualmachineinstancemigrations", "list events",
                                  "create virtualmachineinstancemigrations",
                                  "delete virtualmachineinstancemigrations", "create pods/eviction",
                                  "delete pods", "update virtualmachineinstances/evacuate",
                                  "update virtualmachineinstances/evacuate/cancel",
                                  "create plugins", "patch plugins", "delete plugins",
                                  "get clusterroles", "get migrationpolicies",
                                  "create migrationpolicies", "delete migrationpolicies"});
    }
    void try_without(const std::vector<Right>& rights) {
        std::vector<std::unique_ptr<Lacking>> all;
        for (const auto& right : rights) {
            all.push_back(start_without(right));
        }
        for (const auto& each : all) {
            SCOPED_TRACE(each->right.verb + " " + each->right.resource);
            if (each->right.resource == "events" || each->right.resource == "cpuprofiles") {
                EXPECT_TRUE(run_until([&] { return keeps_labels(*each->side); }));
                report(*each, profile_of(each->space), clock.steady());
            }
        }
        // The second time of the same change is written as a series.
        for (const auto digit : {'b', 'a', 'b', 'a'}) {
            annotate("events-a", "cpu-" + std::string(40, digit));
        }
        for (const auto& each : all) {
            SCOPED_TRACE(each->right.verb + " " + each->right.resource);
            EXPECT_TRUE(run_until([&] { return tells(*each); }));
            if (!labels_need(each->right)) {
                EXPECT_TRUE(run_until([&] { return keeps_labels(*each->side); }));
            }
        }
        for (auto& each : all) {
            end(std::move(each));
        }
    }
    [[nodiscard]] static bool keeps_labels(const ClusterSide& side) {
        const auto facts = side.facts();
        return facts.leads && facts.synced && facts.labels_out_of_step == 0;
    }
    /// A profile of the architecture that nobody else reports.
    static migration::Profile profile_of(const std::string& feature) {
        return scout::test::host({.model = "M", .vendor = "V", .require = {"fpu", feature}});
    }
    static void report(Lacking& lacking, const migration::Profile& profile, SteadyTime now) {
        ASSERT_TRUE(lacking.registry.introduce(
            {.node = "n", .host_identity = "host", .agent_version = "test"}, now));
        HostReport host;
        host.profile_digest = wire::profile_digest(profile);
        host.source = "labeller";
        ASSERT_TRUE(lacking.registry.report_host("n", host));
        lacking.registry.deliver(host.profile_digest, profile);
    }
    void annotate(const std::string& node, const std::string& profile) {
        const json::object patch{
            {"metadata", {{"annotations", {{cluster::profile_annotation, profile}}}}}};
        done(client->merge_patch(target(node), json::serialize(patch)));
    }
    void store_profile(const migration::Profile& profile, const std::string& unused_since) {
        const kube::Target object{.resource = kube::resources::cpu_profiles(),
                                  .object = {.space = {}, .name = cluster::profile_name(profile)}};
        done(client->apply(object, cluster::cpu_profile_body(profile).value(), {}));
        const json::object mark{
            {"metadata", {{"annotations", {{cluster::unused_annotation, unused_since}}}}}};
        done(client->merge_patch(object, json::serialize(mark)));
    }
    /// An object whose status was never told.
    void renew_scout_config() {
        const kube::Target config{.resource = kube::resources::scout_configs(),
                                  .object = {.space = {}, .name = "default"}};
        static_cast<void>(call(client->remove(config, {})));
        create(config.resource, "", {{"metadata", {{"name", "default"}}}, {"spec", {}}});
    }

    LoggedLines log;
    BlockingPool pool{1};
};

/// What one of several aggregators wrote the others need not write: these are alone.
TEST_F(BedMissingRightsTest, RightsToWriteAreNamedWhenThereIsSomethingToWrite) {
    const auto alone = [](const Right& right) {
        return is_one_of(right, {"patch nodes", "delete cpuprofiles", "patch scoutconfigs/status"});
    };
    int tried = 0;
    for (const auto& right : rights_of_aggregator()) {
        if (!alone(right)) {
            continue;
        }
        SCOPED_TRACE(right.verb + " " + right.resource);
        make_node("write", std::to_string(tried++), "x");
        store_profile(profile_of("old"), "2020-01-01T00:00:00.000000Z");
        renew_scout_config();

        auto lacking = start_without(right);

        EXPECT_TRUE(run_until([&] { return tells(*lacking); }));
        if (!labels_need(right)) {
            EXPECT_TRUE(run_until([&] { return keeps_labels(*lacking->side); }));
        }
        end(std::move(lacking));
    }
    EXPECT_EQ(tried, 3);
    const kube::Target config{.resource = kube::resources::scout_configs(),
                              .object = {.space = {}, .name = "default"}};
    done(client->remove(config, {}));
}

TEST_F(BedMissingRightsTest, EveryOtherRightIsNamedAndTheRestGoesOn) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    // Of a kind that is not served no right is missed.
    for (auto& [name, crd] : scout::test::kubevirt_definitions(data)) {
        create(kube::resources::custom_resource_definitions(), "", std::move(crd));
    }
    make_node("events", "a", "x");
    annotate("events-a", "cpu-" + std::string(40, 'a'));
    std::vector<Right> rights;
    for (auto& right : rights_of_aggregator()) {
        if (is_missed_by_readers(right)) {
            rights.push_back(std::move(right));
        }
    }
    ASSERT_GE(rights.size(), 20U);

    for (std::size_t first = 0; first < rights.size(); first += at_a_time) {
        const auto last = std::min(rights.size(), first + at_a_time);
        try_without({rights.begin() + static_cast<std::ptrdiff_t>(first),
                     rights.begin() + static_cast<std::ptrdiff_t>(last)});
    }
    for (const auto& [name, crd] : scout::test::kubevirt_definitions(data)) {
        done(client->remove({.resource = kube::resources::custom_resource_definitions(),
                             .object = {.space = {}, .name = name}},
                            {}));
    }
}

/// Labels that profiles decide would change without them, and change back with them.
TEST_F(BedMissingRightsTest, TheTruthLayerWaitsForProfilesThatMayNotBeRead) {
    renew_scout_config();
    const kube::Target config{.resource = kube::resources::scout_configs(),
                              .object = {.space = {}, .name = "default"}};
    done(client->merge_patch(config, R"({"spec":{"levels":{"layer":"truth"}}})"));
    make_node("truth", "a", "x");

    auto lacking =
        start_without({.verb = "list", .resource = "cpuprofiles", .rule = {}},
                      [](const Right& right) { return right.resource == "cpuprofiles"; });
    ASSERT_TRUE(run_until([&] { return lacking->side->facts().leads && tells(*lacking); }));
    EXPECT_FALSE(lacking->side->facts().synced);
    EXPECT_EQ(level("truth-a"), "none");
    done(client->remove(config, {}));

    EXPECT_TRUE(run_until([this] { return level("truth-a") == "0"; })) << "in the stock layer";
    EXPECT_TRUE(lacking->side->facts().synced);
    EXPECT_THAT(lacking->side->facts().trouble, HasSubstr("cpuprofiles"));
    end(std::move(lacking));
}

}  // namespace
}  // namespace scout::aggregator
