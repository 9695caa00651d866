// SPDX-License-Identifier: Apache-2.0
#include "aggregator/queries.h"

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

    const auto answer = ask().nodes(fleet.now());

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

    const auto answer = ask().nodes(fleet.now());

    EXPECT_FALSE(answer.nodes(0).comparable());
    EXPECT_FALSE(answer.nodes(0).reason().empty());
    EXPECT_EQ(answer.nodes(2).name(), "mute");
    EXPECT_EQ(answer.nodes(2).reason(), "nothing has been reported yet");
}

TEST_F(QueriesTest, GuestsOfAllNodesOrOfOneAndWhoseAreNotKnown) {
    HostReport report = node("large").host;
    report.guests_error = "libvirt has not answered since noon";
    ASSERT_TRUE(fleet.registry().report_host("large", report));
    v1::GuestsRequest request;

    const auto all = ask().guests(request, fleet.now()).value();
    request.set_node("large");
    const auto one = ask().guests(request, fleet.now()).value();

    ASSERT_EQ(all.guests_size(), 1);
    EXPECT_EQ(all.guests(0).node(), "small");
    EXPECT_EQ(all.guests(0).guest().name(), "vm-1");
    ASSERT_EQ(all.errors_size(), 1);
    EXPECT_EQ(all.errors(0), "large: libvirt has not answered since noon");
    EXPECT_EQ(one.guests_size(), 0);
    request.set_node("none");
    EXPECT_EQ(ask().guests(request, fleet.now()).error().code, Errc::not_found);
}

TEST_F(QueriesTest, MatrixShowsEveryPair) {
    add_node("other", other_host());
    ASSERT_TRUE(fleet.registry().introduce(
        {.node = "zz-mute", .host_identity = "m", .agent_version = ""}, fleet.now()));

    const auto answer = ask().matrix();

    ASSERT_EQ(answer.rows_size(), 4);
    EXPECT_EQ(answer.rows(0).node(), "large");
    EXPECT_EQ(answer.rows(0).cells(), ".n!?");
    EXPECT_EQ(answer.rows(1).cells(), "n.n?");
    EXPECT_EQ(answer.rows(2).cells(), "yn.?");
    EXPECT_EQ(answer.rows(3).cells(), "???.");
    EXPECT_EQ(answer.rows(2).level(), 50U);
    EXPECT_EQ(answer.classes(), 3U);
}

TEST_F(QueriesTest, EqualNodesCanGoToEachOther) {
    add_node("small-2", small_host());

    const auto answer = ask().matrix();

    EXPECT_EQ(answer.rows(1).cells(), "y.y");
    EXPECT_EQ(answer.rows(2).cells(), "yy.");
    EXPECT_EQ(answer.rows(1).class_(), answer.rows(2).class_());
}

TEST_F(QueriesTest, BaselineOfAllOrOfSomeNodes) {
    v1::BaselineRequest request;
    const auto both = ask().baseline(request, fleet.now()).value();
    EXPECT_EQ(both.model(), "Small");
    EXPECT_EQ(both.losses().at("large").features_size(), 2);

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

}  // namespace
}  // namespace scout::aggregator
