// SPDX-License-Identifier: Apache-2.0
#include "aggregator/registry.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/aggregator/fleet_fixture.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

class RegistryTest : public ::testing::Test {
protected:
    RegistryTest() {
        registry.observe([this](const Change& change) {
            static const std::vector<std::string> names{"+node",  "~node",  "-node",
                                                        "+guest", "~guest", "-guest"};
            told.push_back(names.at(static_cast<std::size_t>(change.kind)) + " " +
                           change.node.name +
                           (change.guest != nullptr ? "/" + change.guest->uuid : ""));
        });
    }

    Status introduce(const std::string& node, const std::string& identity) {
        return registry.introduce({.node = node, .host_identity = identity, .agent_version = "1"},
                                  now);
    }
    std::vector<std::string> take_told() { return std::exchange(told, {}); }
    void pass(std::chrono::milliseconds time) {
        now += time;
        registry.tick(now);
    }

    test::FakeClock clock;
    Registry registry{RegistryOptions{}, clock};
    SteadyTime now{1000h};
    std::vector<std::string> told;
};

TEST_F(RegistryTest, FreshnessGoesByAge) {
    ASSERT_TRUE(introduce("n1", "a"));
    for (const auto& [after, expected] :
         {std::pair{35'000ms, Freshness::fresh}, std::pair{1ms, Freshness::stale},
          std::pair{24h - 35'002ms, Freshness::stale}, std::pair{1ms, Freshness::gone},
          std::pair{7 * 24h - 24h - 1ms, Freshness::gone}}) {
        pass(std::chrono::duration_cast<std::chrono::milliseconds>(after));
        ASSERT_NE(registry.find("n1"), nullptr);
        EXPECT_EQ(registry.find("n1")->freshness, expected)
            << age(*registry.find("n1"), now).count();
    }
    EXPECT_EQ(take_told(), (std::vector<std::string>{"+node n1", "~node n1", "~node n1"}));

    pass(1ms);

    EXPECT_EQ(registry.find("n1"), nullptr);
    EXPECT_EQ(take_told(), std::vector<std::string>{"-node n1"});
}

TEST_F(RegistryTest, HeardOfAgainIsFreshAtOnce) {
    ASSERT_TRUE(introduce("n1", "a"));
    pass(25h);

    registry.touch("n1", now);

    EXPECT_EQ(registry.find("n1")->freshness, Freshness::fresh);
    EXPECT_EQ(age(*registry.find("n1"), now), 0ms);
}

TEST_F(RegistryTest, AgeIsNeverNegativeAndTimeNeverGoesBack) {
    ASSERT_TRUE(introduce("n1", "a"));

    registry.touch("n1", now - 1h);

    EXPECT_EQ(age(*registry.find("n1"), now), 0ms);
    EXPECT_EQ(age(*registry.find("n1"), now - 1h), 0ms);
}

TEST_F(RegistryTest, SameNameOfAnotherHostIsRefusedWithBothNamedWhileTheFirstLives) {
    ASSERT_TRUE(introduce("n1", "machine-a"));

    const auto second = introduce("n1", "machine-b");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::refused);
    EXPECT_NE(second.error().message.find("machine-a"), std::string::npos);
    EXPECT_NE(second.error().message.find("machine-b"), std::string::npos);
    EXPECT_EQ(registry.find("n1")->host_identity, "machine-a");
}

TEST_F(RegistryTest, NameOfAStaleHostIsTakenOverFromNothing) {
    ASSERT_TRUE(introduce("n1", "machine-a"));
    ASSERT_TRUE(registry.change_guests("n1", {guest_of(registry, "u1", "vm", small_host())}, {}));
    pass(36s);
    take_told();

    ASSERT_TRUE(introduce("n1", "machine-b"));

    EXPECT_EQ(registry.find("n1")->host_identity, "machine-b");
    EXPECT_TRUE(registry.find("n1")->guests.empty());
    EXPECT_EQ(registry.guests(), 0U);
    EXPECT_EQ(take_told(), (std::vector<std::string>{"-guest n1/u1", "-node n1", "+node n1"}));
}

TEST_F(RegistryTest, ReportsAreToldAlsoIfTheyChangeNothing) {
    const auto profile = small_host();
    HostReport report;
    report.profile_digest = wire::profile_digest(profile);
    std::vector<bool> with_profile;
    registry.observe_reports(
        [&](const Node& node) { with_profile.push_back(node.profile != nullptr); });
    ASSERT_TRUE(introduce("n1", "a"));
    EXPECT_TRUE(with_profile.empty()) << "who says hello has told nothing yet";

    ASSERT_TRUE(registry.report_host("n1", report));
    registry.deliver(report.profile_digest, profile);
    ASSERT_TRUE(registry.report_host("n1", report));

    EXPECT_EQ(with_profile, (std::vector<bool>{false, true, true}));
}

TEST_F(RegistryTest, RemovedGuestsAreDatedByWhatIsToldOrByNow) {
    std::vector<std::pair<FoundBy, std::int64_t>> removals;
    registry.observe([&](const Change& change) {
        if (change.kind == ChangeKind::guest_removed) {
            removals.emplace_back(change.guest->found_by, change.guest->since_unix_ms);
        }
    });
    ASSERT_TRUE(introduce("n1", "machine-a"));
    const auto guest = [&](const std::string& uuid) {
        return guest_of(registry, uuid, uuid, small_host());
    };
    ASSERT_TRUE(registry.change_guests("n1", {guest("a"), guest("b"), guest("c")}, {}));

    ASSERT_TRUE(registry.change_guests(
        "n1", {}, {{.uuid = "a", .found_by = FoundBy::event, .since_unix_ms = 7}, {.uuid = "b"}}));
    pass(36s);
    ASSERT_TRUE(introduce("n1", "machine-b"));

    const auto wall = clock.wall().time_since_epoch().count();
    EXPECT_EQ(removals,
              (std::vector<std::pair<FoundBy, std::int64_t>>{
                  {FoundBy::event, 7}, {FoundBy::resync, wall}, {FoundBy::resync, wall}}));
}

TEST_F(RegistryTest, RestartedAgentKeepsWhatIsKnown) {
    ASSERT_TRUE(introduce("n1", "a"));
    ASSERT_TRUE(registry.change_guests("n1", {guest_of(registry, "u1", "vm", small_host())}, {}));
    pass(36s);

    ASSERT_TRUE(introduce("n1", "a"));

    EXPECT_EQ(registry.find("n1")->guests.size(), 1U);
    EXPECT_EQ(registry.find("n1")->freshness, Freshness::fresh);
}

TEST_F(RegistryTest, ProfilesOfEqualNodesAreOne) {
    const auto profile = small_host();
    HostReport report;
    report.profile_digest = wire::profile_digest(profile);
    for (const std::string name : {"n1", "n2"}) {
        ASSERT_TRUE(introduce(name, name));
        EXPECT_EQ(registry.report_host(name, report).value(), false);
    }

    registry.deliver(report.profile_digest, profile);

    EXPECT_EQ(registry.find("n1")->profile, registry.find("n2")->profile);
    EXPECT_EQ(registry.profiles(), 1U);
    ASSERT_TRUE(introduce("n3", "n3"));
    EXPECT_EQ(registry.report_host("n3", report).value(), true);
    EXPECT_NE(registry.find("n3")->profile, nullptr);
}

TEST_F(RegistryTest, ProfileThatNobodyHasIsForgotten) {
    const auto profile = small_host();
    const auto digest = wire::profile_digest(profile);
    ASSERT_TRUE(introduce("n1", "a"));
    HostReport report;
    report.profile_digest = digest;
    ASSERT_TRUE(registry.report_host("n1", report));
    registry.deliver(digest, profile);
    ASSERT_EQ(registry.profiles(), 1U);

    pass(8 * 24h);

    EXPECT_EQ(registry.profiles(), 0U);
}

TEST_F(RegistryTest, SameProfileUnderAnotherDigestIsNoChange) {
    ASSERT_TRUE(introduce("n1", "a"));
    const auto report = [this](const std::string& digest, const migration::Profile& profile) {
        HostReport host;
        host.profile_digest = digest;
        ASSERT_TRUE(registry.report_host("n1", host));
        registry.deliver(digest, profile);
    };
    report(std::string(64, 'a'), small_host());
    report(std::string(64, 'b'), large_host());

    report(std::string(64, 'c'), large_host());

    EXPECT_EQ(registry.find("n1")->latest.profile->digest, std::string(64, 'c'));
    ASSERT_NE(registry.find("n1")->before.profile, nullptr);
    EXPECT_EQ(registry.find("n1")->before.profile->profile, small_host());
}

TEST_F(RegistryTest, EarlierProfileIsKeptWhenItChangesAlsoAcrossAFailedProbe) {
    ASSERT_TRUE(introduce("n1", "a"));
    const auto report = [this](const migration::Profile* profile) {
        HostReport host;
        if (profile != nullptr) {
            host.profile_digest = wire::profile_digest(*profile);
        }
        ASSERT_TRUE(registry.report_host("n1", host));
        if (profile != nullptr) {
            registry.deliver(host.profile_digest, *profile);
        }
    };
    const auto small = small_host();
    const auto large = large_host();

    report(&small);
    EXPECT_EQ(registry.find("n1")->before.profile, nullptr);
    report(nullptr);
    EXPECT_EQ(registry.find("n1")->profile, nullptr);
    report(&small);
    EXPECT_EQ(registry.find("n1")->before.profile, nullptr);
    report(nullptr);
    report(&large);

    ASSERT_NE(registry.find("n1")->before.profile, nullptr);
    EXPECT_EQ(registry.find("n1")->before.profile->profile.host_model->name, "Small");
    EXPECT_EQ(registry.find("n1")->profile->profile.host_model->name, "Large");
}

TEST_F(RegistryTest, OnlyDifferencesOfGuestsAreTold) {
    ASSERT_TRUE(introduce("n1", "a"));
    const auto guest = [this](const std::string& uuid, const std::string& state) {
        auto made = guest_of(registry, uuid, "vm-" + uuid, small_host());
        made.state = state;
        return made;
    };
    ASSERT_TRUE(registry.change_guests(
        "n1", {guest("a", "running"), guest("b", "running"), guest("c", "running")}, {}));
    take_told();

    ASSERT_TRUE(registry.change_guests(
        "n1", {guest("a", "running"), guest("b", "paused"), guest("d", "running")},
        {{.uuid = "c"}, {.uuid = "x"}}));

    EXPECT_EQ(take_told(), (std::vector<std::string>{"-guest n1/c", "~guest n1/b", "+guest n1/d"}));
    EXPECT_EQ(registry.guests(), 3U);
}

TEST_F(RegistryTest, EqualGuestCpusAreOne) {
    const auto a = guest_of(registry, "a", "a", small_host());
    const auto b = guest_of(registry, "b", "b", small_host());
    const auto c = guest_of(registry, "c", "c", large_host());

    EXPECT_EQ(a.cpu, b.cpu);
    EXPECT_NE(a.cpu, c.cpu);
}

TEST_F(RegistryTest, NumbersOfGuestsAndNodesAreBounded) {
    RegistryOptions options;
    options.guests_limit = 2;
    options.nodes_limit = 1;
    Registry small{options, clock};
    ASSERT_TRUE(small.introduce({.node = "n1", .host_identity = "a", .agent_version = ""}, now));
    const auto guest = [&](const std::string& uuid) {
        return guest_of(small, uuid, uuid, small_host());
    };

    EXPECT_TRUE(small.change_guests("n1", {guest("a"), guest("b"), guest("c")}, {}));
    EXPECT_EQ(small.find("n1")->guests.size(), 2U);
    EXPECT_EQ(small.guests(), 2U);
    EXPECT_TRUE(small.change_guests("n1", {guest("c")}, {{.uuid = "a"}}));
    EXPECT_TRUE(small.find("n1")->guests.contains("c"));
    EXPECT_EQ(small.introduce({.node = "n2", .host_identity = "b", .agent_version = ""}, now)
                  .error()
                  .code,
              Errc::unavailable);
}

TEST_F(RegistryTest, DocumentsNeverAgeAndKeepTheirName) {
    Registry::Document document;
    document.name = "n1";
    document.path = "hosts/n1.xml";
    ASSERT_TRUE(registry.add_document(document, now));

    pass(30 * 24h);

    EXPECT_EQ(registry.find("n1")->freshness, Freshness::fresh);
    EXPECT_EQ(age(*registry.find("n1"), now), 0ms);
    const auto agent = introduce("n1", "a");
    ASSERT_FALSE(agent);
    EXPECT_EQ(agent.error().code, Errc::refused);
    EXPECT_NE(agent.error().message.find("hosts/n1.xml"), std::string::npos);
    EXPECT_EQ(registry.add_document(document, now).error().code, Errc::refused);
}

TEST_F(RegistryTest, DocumentMustBeCalledAsANodeCanBe) {
    Registry::Document document;
    document.name = "my host";
    document.path = "hosts/my host.xml";

    const auto added = registry.add_document(document, now);

    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Errc::invalid);
    EXPECT_NE(added.error().message.find("rename the file"), std::string::npos);
}

TEST_F(RegistryTest, EqualReportsTellNothing) {
    ASSERT_TRUE(introduce("n1", "a"));
    HostReport report;
    report.source = "embedded";
    ASSERT_TRUE(registry.report_host("n1", report));
    take_told();

    ASSERT_TRUE(registry.report_host("n1", report));

    EXPECT_TRUE(told.empty());
    EXPECT_EQ(registry.report_host("n9", report).error().code, Errc::not_found);
}

}  // namespace
}  // namespace scout::aggregator
