// SPDX-License-Identifier: Apache-2.0
#include "aggregator/queries.h"

#include <gmock/gmock.h>

#include "tests/aggregator/fleet_fixture.h"
#include "virt_scout/v1/fleet.pb.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
namespace v1 = virt_scout::v1;

class QueriesTest : public FleetFixture {
protected:
    QueriesTest() {
        add_node("large", large_host());
        add_node("small", small_host());
        add_guest("small", guest_of(fleet.registry(), "u1", "vm-1", small_host()));
    }
    const FleetQueries& ask() const { return fleet.queries(); }
};

TEST_F(QueriesTest, NodesTellWhatIsKnownAndHowOldItIs) {
    clock.advance(40s);
    fleet.registry().touch("large", clock.steady());
    fleet.registry().tick(clock.steady());

    const auto answer = ask().nodes(fleet.now()).all();

    EXPECT_EQ(answer.map(), "test map");
    ASSERT_EQ(answer.nodes_size(), 2);
    const auto& large = answer.nodes(0);
    const auto& small = answer.nodes(1);
    EXPECT_EQ(large.name(), "large");
    EXPECT_EQ(large.freshness(), v1::FRESH);
    EXPECT_EQ(large.age_ms(), 0U);
    EXPECT_EQ(large.level(), 0U);
    EXPECT_EQ(small.freshness(), v1::STALE);
    EXPECT_EQ(small.age_ms(), 40'000U);
    EXPECT_EQ(small.arch(), "x86_64");
    EXPECT_EQ(small.virt_type(), "kvm");
    EXPECT_EQ(small.vendor(), "Intel");
    EXPECT_EQ(small.host_model(), "Small");
    EXPECT_EQ(small.source(), "embedded");
    EXPECT_EQ(small.guests(), 1U);
    EXPECT_TRUE(small.comparable());
    EXPECT_EQ(small.level(), 100U);
    EXPECT_EQ(small.destinations(), 1U);
}

TEST_F(QueriesTest, OneNodeTellsItsProfileLabelsAndSupportedSet) {
    v1::NodeRequest request;
    request.set_name("large");

    const auto answer = ask().node(request, fleet.now()).value();

    EXPECT_EQ(wire::from_wire(answer.profile()).value(), large_host());
    EXPECT_EQ(answer.labels().at("host-model-cpu.node.kubevirt.io/Large"), "true");
    EXPECT_EQ(answer.labels().at("kubernetes.io/arch"), "amd64");
    EXPECT_EQ(answer.labels().at("kubevirt.io/schedulable"), "true");
    EXPECT_EQ(answer.supported_size(), 6);
    request.set_name("none");
    EXPECT_EQ(ask().node(request, fleet.now()).error().code, Errc::not_found);
}

TEST_F(QueriesTest, NodeThatCannotBeComparedSaysWhy) {
    auto emulated = small_host();
    emulated.virt_type = "qemu";
    add_node("emulated", emulated);
    ASSERT_TRUE(fleet.registry().introduce(
        {.node = "mute", .host_identity = "m", .agent_version = ""}, fleet.now()));

    const auto answer = ask().nodes(fleet.now()).all();

    EXPECT_FALSE(answer.nodes(0).comparable());
    EXPECT_FALSE(answer.nodes(0).reason().empty());
    EXPECT_EQ(answer.nodes(2).name(), "mute");
    EXPECT_EQ(answer.nodes(2).reason(), "nothing has been reported yet");
}

TEST_F(QueriesTest, FailingProbeIsToldBesideTheLastGoodAnswer) {
    HostReport report = node("large").host;
    report.probe_error = "libvirt does not answer";
    ASSERT_TRUE(fleet.registry().report_host("large", report));

    const auto answer = ask().nodes(fleet.now()).all();

    EXPECT_TRUE(answer.nodes(0).comparable());
    EXPECT_EQ(answer.nodes(0).reason(), "libvirt does not answer");
}

TEST_F(QueriesTest, NodeWhoseProfileIsOnItsWaySaysSo) {
    ASSERT_TRUE(fleet.registry().introduce(
        {.node = "new", .host_identity = "n", .agent_version = ""}, fleet.now()));
    HostReport report;
    report.profile_digest = wire::profile_digest(other_host());
    ASSERT_TRUE(fleet.registry().report_host("new", report));
    v1::BaselineRequest request;
    request.add_nodes("new");

    EXPECT_EQ(
        ask().baseline(request, fleet.now()).error().message,
        "node new has no profile: the profile is still on its way: leave it out, or ask again "
        "when it reports");
}

TEST_F(QueriesTest, GuestsOfAllNodesOrOfOneAndWhoseAreNotKnown) {
    HostReport report = node("large").host;
    report.guests_error = "libvirt has not answered since noon";
    ASSERT_TRUE(fleet.registry().report_host("large", report));
    v1::GuestsRequest request;

    const auto all = ask().guests(request, fleet.now()).value().all();
    request.set_node("large");
    const auto one = ask().guests(request, fleet.now()).value().all();

    ASSERT_EQ(all.guests_size(), 1);
    EXPECT_EQ(all.guests(0).node(), "small");
    EXPECT_EQ(all.guests(0).guest().name(), "vm-1");
    ASSERT_EQ(all.errors_size(), 1);
    EXPECT_EQ(all.errors(0), "large: libvirt has not answered since noon");
    EXPECT_EQ(one.guests_size(), 0);
    request.set_node("none");
    EXPECT_EQ(ask().guests(request, fleet.now()).error().code, Errc::not_found);
}

TEST_F(QueriesTest, MatrixShowsEveryPairOfClasses) {
    add_node("other", other_host());
    ASSERT_TRUE(fleet.registry().introduce(
        {.node = "zz-mute", .host_identity = "m", .agent_version = ""}, fleet.now()));

    const auto answer = ask().matrix().value();

    ASSERT_EQ(answer.rows_size(), 4);
    EXPECT_EQ(answer.rows(0).node(), "large");
    EXPECT_EQ(answer.rows(2).level(), 50U);
    EXPECT_FALSE(answer.rows(3).has_class_());
    EXPECT_EQ(answer.classes(), 3U);
    ASSERT_EQ(answer.class_rows_size(), 3);
    const auto cell = [&answer](int from, int to) {
        const auto place = [&answer](std::uint32_t number) {
            int at = 0;
            while (answer.class_rows(at).class_() != number) {
                ++at;
            }
            return at;
        };
        const auto& row = answer.class_rows(place(answer.rows(from).class_()));
        return row.cells().at(static_cast<std::size_t>(place(answer.rows(to).class_())));
    };
    EXPECT_EQ(cell(0, 1), 'n');
    EXPECT_EQ(cell(0, 2), '!');
    EXPECT_EQ(cell(1, 0), 'n');
    EXPECT_EQ(cell(1, 2), 'n');
    EXPECT_EQ(cell(2, 0), 'y');
    EXPECT_EQ(cell(2, 1), 'n');
}

TEST_F(QueriesTest, EqualNodesAreOneClassAndCanGoToEachOther) {
    add_node("small-2", small_host());

    const auto answer = ask().matrix().value();

    EXPECT_EQ(answer.rows(1).class_(), answer.rows(2).class_());
    ASSERT_EQ(answer.class_rows_size(), 2);
    const int small = answer.class_rows(0).class_() == answer.rows(1).class_() ? 0 : 1;
    EXPECT_EQ(answer.class_rows(small).cells().at(static_cast<std::size_t>(small)), 'y');
}

TEST_F(QueriesTest, GuestWhoseCpuIsNotKnownSaysWhy) {
    add_guest_without_cpu("small");
    v1::GuestsRequest request;

    const auto answer = ask().guests(request, fleet.now()).value().all();

    ASSERT_EQ(answer.guests_size(), 2);
    EXPECT_EQ(answer.cpus_size(), 1);
    EXPECT_TRUE(answer.guests(0).has_cpu());
    EXPECT_FALSE(answer.guests(1).has_cpu());
    EXPECT_EQ(answer.guests(1).guest().cpu_error(), "too many features");
}

TEST_F(QueriesTest, NodeWithMoreGuestsThanAreKeptSaysSo) {
    std::vector<Guest> many;
    for (int i = 0; i < 5000; ++i) {
        many.push_back(guest_of(fleet.registry(), std::to_string(i), "vm", small_host()));
    }
    ASSERT_TRUE(fleet.registry().change_guests("large", std::move(many), {}));
    v1::GuestsRequest request;
    request.set_node("large");

    const auto answer = ask().guests(request, fleet.now()).value().all();

    EXPECT_EQ(answer.guests_size(), 4096);
    EXPECT_EQ(answer.cpus_size(), 1);
    ASSERT_EQ(answer.errors_size(), 1);
    EXPECT_NE(answer.errors(0).find("at most 4096 guests"), std::string::npos);
}

TEST_F(QueriesTest, AnswersAboutManyNodesComeInTurnsAndMissNone) {
    for (int i = 0; i < 100; ++i) {
        const auto name = "n" + std::to_string(i);
        add_node(name, small_host());
        for (int k = 0; k < 50; ++k) {
            add_guest(name, guest_of(fleet.registry(), std::to_string(k), "vm", small_host()));
        }
    }
    auto sweep = ask().guests({}, fleet.now()).value();

    int turns = 1;
    while (!sweep.turn()) {
        ++turns;
        // The node that was answered last goes, and others come.
        pass(turns == 2 ? 0ms : 8 * 24h);
        add_node("zz" + std::to_string(turns), small_host());
    }

    EXPECT_GE(turns, 3);
    EXPECT_EQ(std::move(ask().guests({}, fleet.now()).value()).all().cpus_size(), 0);
    EXPECT_GE(sweep.answer().guests_size(), 1000);
    EXPECT_EQ(sweep.answer().cpus_size(), 1);
}

TEST_F(QueriesTest, BaselineOfAllOrOfSomeNodes) {
    v1::BaselineRequest request;
    const auto both = ask().baseline(request, fleet.now()).value();
    EXPECT_EQ(both.model(), "Small");
    EXPECT_EQ(both.losses().at("large").features_size(), 2);

    add_node("large-2", large_host());
    const auto three = ask().baseline(request, fleet.now()).value();
    EXPECT_EQ(three.losses_size(), 3);
    EXPECT_EQ(three.losses().at("large-2").features_size(), 2);

    add_node("other", other_host());
    EXPECT_FALSE(ask().baseline(request, fleet.now()).value().has_model());

    request.add_nodes("large");
    EXPECT_EQ(ask().baseline(request, fleet.now()).value().model(), "Large");
    request.add_nodes("none");
    EXPECT_EQ(ask().baseline(request, fleet.now()).error().code, Errc::not_found);
}

TEST_F(QueriesTest, GoneNodesAreNoPartOfABaselineOfAll) {
    clock.advance(25h);
    fleet.registry().touch("large", clock.steady());
    fleet.registry().tick(clock.steady());
    v1::BaselineRequest request;

    EXPECT_EQ(ask().baseline(request, fleet.now()).value().model(), "Large");
    request.add_nodes("small");
    EXPECT_EQ(ask().baseline(request, fleet.now()).error().code, Errc::unavailable);
    clock.advance(8 * 24h);
    fleet.registry().tick(clock.steady());
    EXPECT_EQ(ask().baseline({}, fleet.now()).error().code, Errc::not_found);
}

TEST_F(QueriesTest, UpgradeImpactComparesTheNodeWithItselfBefore) {
    v1::UpgradeImpactRequest request;
    request.set_node("large");
    EXPECT_EQ(ask().upgrade_impact(request).error().code, Errc::not_found);

    add_node("large", small_host());
    const auto answer = ask().upgrade_impact(request).value();

    EXPECT_EQ(answer.model_before(), "Large");
    EXPECT_EQ(answer.model_after(), "Small");
    EXPECT_TRUE(answer.comparable());
    ASSERT_EQ(answer.missing_after_size(), 2);
    EXPECT_EQ(answer.missing_after(0), "aes");
    EXPECT_EQ(answer.missing_before_size(), 0);
    EXPECT_FALSE(answer.advice().empty());
}

TEST_F(QueriesTest, UpgradeImpactJudgesTheTscOfBefore) {
    const auto report = [this](const migration::Profile& profile, std::uint64_t tsc_hz) {
        HostReport told;
        told.profile_digest = wire::profile_digest(profile);
        told.facts.tsc_hz = tsc_hz;
        ASSERT_TRUE(fleet.registry().report_host("large", told));
        fleet.registry().deliver(told.profile_digest, profile);
    };
    auto changed = large_host();
    changed.machines = {"pc-q35-9.9"};  // new to the fleet: its body comes after the facts
    report(large_host(), 3'000'000'000);
    report(changed, 2'000'000'000);
    v1::UpgradeImpactRequest request;
    request.set_node("large");

    const auto answer = ask().upgrade_impact(request).value();

    EXPECT_THAT(answer.notes(), testing::Contains(testing::HasSubstr(
                                    "TSC: changed from 3000000000 Hz (cannot scale) to "
                                    "2000000000 Hz (cannot scale)")));
}

}  // namespace
}  // namespace scout::aggregator
