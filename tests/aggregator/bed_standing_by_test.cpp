// SPDX-License-Identifier: Apache-2.0
// Two aggregators that were given different settings, and hear of different profiles, stand by for
// each other: what they write is the leader's alone.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include "aggregator/registry.h"
#include "cluster/cpu_profile.h"
#include "tests/aggregator/bed_cluster_fixture.h"
#include "tests/support/profiles.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

/// Its machine type makes it want this level of every node; its agents read the node so.
struct Replica {
    Replica(std::string chosen, std::string wanted, const std::string& feature, const Clock& clock)
        : machine(std::move(chosen)),
          level(std::move(wanted)),
          profile(scout::test::host({.model = "M", .vendor = "V", .require = {"fpu", feature}})),
          registry({}, clock) {
        profile.arch = "standing";
    }

    [[nodiscard]] std::string profile_name() const { return cluster::profile_name(profile); }

    std::string machine;
    std::string level;
    migration::Profile profile;
    Registry registry;
    std::unique_ptr<ClusterSide> side;
};

class BedStandingByTest : public BedClusterTest {
protected:
    void SetUp() override {
        BedClusterTest::SetUp();
        if (!client) {
            return;
        }
        for (const auto& file : files) {
            apply_manifest(file);
        }
        make_node("standing", "a", "x");
        make_node("standing", "b", "x");
        space = new_space();
    }
    void TearDown() override {
        for (std::size_t i = client ? definitions : files.size(); i < files.size(); ++i) {
            for (const auto& each : read_manifest(files.at(i))) {
                done(client->remove({.resource = each.resource, .object = each.object}, {}));
            }
        }
    }

    void begin(Replica& replica) {
        auto chosen = settings(access, space);
        chosen.levels.machine_type = replica.machine;
        chosen.https = {
            .listen = "127.0.0.1:0", .names = {replica.machine + ".example"}, .files = {}};
        replica.side = std::make_unique<ClusterSide>(loop.get_executor(), std::move(chosen), clock);
        replica.side->follow(replica.registry);
        ASSERT_TRUE(replica.side->start());
    }
    /// Its agents come to whoever leads.
    void report(Replica& replica) {
        const auto now = clock.steady();
        ASSERT_TRUE(replica.registry.introduce(
            {.node = "standing-a", .host_identity = "host", .agent_version = replica.machine},
            now));
        HostReport host;
        host.profile_digest = wire::profile_digest(replica.profile);
        host.source = "labeller";
        ASSERT_TRUE(replica.registry.report_host("standing-a", host));
        replica.registry.deliver(host.profile_digest, replica.profile);
    }
    /// All that it has to write is written.
    void lead(Replica& replica) {
        ASSERT_TRUE(settle(*replica.side));
        report(replica);
        ASSERT_TRUE(run_until([&] { return named_profile() == replica.profile_name(); }));
        ASSERT_TRUE(run_until([&] {
            return told().find(replica.machine) != std::string::npos && has_certificate(replica);
        }));
        ASSERT_TRUE(settle(*replica.side));
    }
    [[nodiscard]] static bool has_certificate(const Replica& replica) {
        const auto serving = replica.side->facts().serving;
        return serving.trouble.empty() && serving.issued > 0;
    }
    /// The other one knows all and would write if it led; the leader does so.
    void expect_peace(const Replica& leader, const Replica& other) {
        ASSERT_TRUE(run_until([&] {
            const auto facts = other.side->facts();
            return facts.synced && facts.labels_out_of_step > 0 && has_certificate(other);
        }));
        const auto before = versions();
        const auto later = "later-" + std::to_string(++later_nodes);
        make_node("standing", later, "x");
        EXPECT_TRUE(run_until([&] { return level("standing-" + later) == leader.level; }));
        EXPECT_TRUE(settle(*leader.side));

        EXPECT_EQ(versions(), before);
        EXPECT_EQ(level("standing-a"), leader.level);
        EXPECT_EQ(named_profile(), leader.profile_name());
        EXPECT_FALSE(other.side->facts().leads);
        EXPECT_EQ(other.side->facts().labels_written, 0U);
    }

    [[nodiscard]] std::string named_profile() {
        const auto name = test::at(done(client->get(target("standing-a"))),
                                   "/metadata/annotations/virt-scout.io~1cpu-profile");
        return name.is_string() ? std::string(name.as_string()) : std::string{};
    }
    [[nodiscard]] std::string told() {
        const auto config = done(client->get({.resource = kube::resources::scout_configs(),
                                              .object = {.space = {}, .name = "default"}}));
        return json::serialize(test::at(config, "/status/conditions/0/message"));
    }
    /// Of all objects that a replica may write.
    [[nodiscard]] std::map<std::string, std::string> versions() {
        std::map<std::string, std::string> versions;
        const auto add = [this, &versions](const kube::Resource& resource,
                                           const kube::ObjectName& object) {
            const auto stored = done(client->get({.resource = resource, .object = object}));
            versions[resource.plural + "/" + object.name] =
                std::string(test::at(stored, "/metadata/resourceVersion").as_string());
        };
        for (const auto& file : files) {
            for (const auto& each : read_manifest(file)) {
                add(each.resource, each.object);
            }
        }
        add(kube::resources::nodes(), {.space = {}, .name = "standing-a"});
        add(kube::resources::nodes(), {.space = {}, .name = "standing-b"});
        add(kube::resources::config_maps(), {.space = space, .name = "virt-scout-ca"});
        add(kube::resources::secrets(), {.space = space, .name = "virt-scout-ca"});
        return versions;
    }

    /// Those that define kinds come first, and stay.
    const std::vector<std::string> files{"crds/cpuprofiles.yaml", "crds/scoutconfigs.yaml",
                                         "../scoutconfig.yaml",   "first-placement.yaml",
                                         "policy-lint.yaml",      std::string{query_api_file}};
    static constexpr std::size_t definitions = 2;
    std::string space;
    int later_nodes = 0;
};

TEST_F(BedStandingByTest, NothingIsWrittenBackAndForthWhoeverLeads) {
    Replica one("pc-none", "0", "x", clock);
    Replica other("q35", "100", "y", clock);
    begin(one);
    lead(one);
    begin(other);
    expect_peace(one, other);

    stop(std::move(one.side));
    lead(other);
    begin(one);
    expect_peace(other, one);

    stop(std::move(other.side));
    lead(one);
    begin(other);
    expect_peace(one, other);
    stop(std::move(other.side));
    stop(std::move(one.side));
}

}  // namespace
}  // namespace scout::aggregator
