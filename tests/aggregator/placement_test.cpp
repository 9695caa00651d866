// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/fleet_fixture.h"
#include "virt_scout/v1/fleet.pb.h"
#include "wire/convert.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;
using migration::Verdict;
namespace v1 = virt_scout::v1;

class PlacementTest : public FleetFixture {
protected:
    PlacementTest() {
        add_node("large", large_host());
        add_node("other", other_host());
        add_node("small", small_host());
        add_guest("large", guest_of(fleet.registry(), "u1", "vm-1", large_host()));
        add_guest("small", guest_of(fleet.registry(), "u2", "vm-2", small_host()));
    }
    Result<migration::Placement> where(const v1::WhereRequest& request) {
        auto answer = fleet.queries().where(request, fleet.now());
        if (!answer) {
            return fail(answer.error());
        }
        return wire::from_wire(std::move(*answer).all());
    }
    static v1::WhereRequest of_guest(const std::string& guest, const std::string& node = "") {
        v1::WhereRequest request;
        request.mutable_subject()->set_guest(guest);
        request.mutable_subject()->set_node(node);
        return request;
    }
    static v1::WhereRequest of_node(const std::string& node) {
        v1::WhereRequest request;
        request.mutable_subject()->set_host_model_of(node);
        return request;
    }
    static const migration::Comparison& to(const migration::Placement& placement,
                                           const std::string& node) {
        for (const auto& answer : placement.nodes) {
            if (answer.node == node) {
                return answer.comparison;
            }
        }
        throw std::out_of_range(node);
    }
};

TEST_F(PlacementTest, GuestIsComparedWithEveryNodeButItsOwn) {
    const auto up = where(of_guest("vm-2")).value();
    const auto down = where(of_guest("u1")).value();

    EXPECT_EQ(up.subject, "vm-2");
    EXPECT_EQ(up.source, "small");
    ASSERT_EQ(up.nodes.size(), 2U);
    EXPECT_EQ(to(up, "large").verdict, Verdict::can);
    EXPECT_EQ(to(up, "other").verdict, Verdict::cannot);
    EXPECT_EQ(down.source, "large");
    EXPECT_EQ(to(down, "small").truth, Verdict::cannot);
    EXPECT_EQ(to(down, "small").missing, (migration::FeatureSet{"aes", "avx"}));
    EXPECT_EQ(to(down, "small").map, "test map");
}

TEST_F(PlacementTest, HostModelGuestOfANodeCanBeAskedFor) {
    const auto answer = where(of_node("small")).value();

    EXPECT_EQ(answer.subject, "small");
    EXPECT_EQ(answer.source, "small");
    EXPECT_EQ(to(answer, "large").gate, Verdict::can);
    EXPECT_EQ(to(answer, "large").verdict, Verdict::can);
}

TEST_F(PlacementTest, DescribedGuestHasNoSourceAndItsCallersName) {
    v1::WhereRequest request;
    *request.mutable_subject()->mutable_described() =
        wire::to_wire(migration::host_model_guest(small_host()));
    request.mutable_subject()->set_name("./guest.xml");

    const auto answer = where(request).value();

    EXPECT_EQ(answer.subject, "./guest.xml");
    EXPECT_TRUE(answer.source.empty());
    ASSERT_EQ(answer.nodes.size(), 3U);
    EXPECT_EQ(to(answer, "small").verdict, Verdict::can);
    EXPECT_EQ(to(answer, "other").verdict, Verdict::cannot);
}

TEST_F(PlacementTest, WhatTiesAGuestIsJudgedWhereItIsToldAndNotedWhereNot) {
    auto guest = migration::host_model_guest(small_host());
    const auto ask = [this, &guest] {
        v1::WhereRequest request;
        *request.mutable_subject()->mutable_described() = wire::to_wire(guest);
        return where(request).value();
    };

    guest.ties = migration::FeatureSet{"hostdev pci"};
    const auto tied = ask();
    guest.ties.reset();
    const auto not_told = ask();

    EXPECT_EQ(to(tied, "small").verdict, Verdict::unknown);
    EXPECT_EQ(to(tied, "small").reasons.front().keys.front(), "hostdev pci");
    EXPECT_TRUE(tied.notes.empty());
    EXPECT_EQ(to(not_told, "small").verdict, Verdict::can);
    ASSERT_EQ(not_told.notes.size(), 1U);
    EXPECT_EQ(not_told.notes.front(), migration::not_judged(guest));
}

TEST_F(PlacementTest, OneTargetCanBeAskedFor) {
    auto request = of_guest("vm-1");
    request.set_target("small");
    const auto answer = where(request).value();
    EXPECT_EQ(answer.nodes.size(), 1U);

    request.set_target("large");
    EXPECT_EQ(where(request).error().code, Errc::invalid);
    request.set_target("nowhere");
    EXPECT_EQ(where(request).error().code, Errc::not_found);
}

TEST_F(PlacementTest, GuestThatMovedIsWhereItWasHeardOfLast) {
    pass(36s);
    fleet.registry().touch("small", clock.steady());
    add_guest("small", guest_of(fleet.registry(), "u1", "vm-1", large_host()));

    EXPECT_EQ(where(of_guest("u1")).value().source, "small");
    EXPECT_EQ(where(of_guest("vm-1")).value().source, "small");

    fleet.registry().touch("large", clock.steady());
    const auto both = where(of_guest("u1"));
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().message, "guest u1 is not one: u1 on large, u1 on small: name its node");
    EXPECT_EQ(where(of_guest("u1", "large")).value().source, "large");
}

TEST_F(PlacementTest, AmbiguousNameIsNeverChosenSilently) {
    add_guest("other", guest_of(fleet.registry(), "u3", "vm-1", other_host()));

    const auto both = where(of_guest("vm-1"));

    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code, Errc::invalid);
    EXPECT_NE(both.error().message.find("u1 on large, u3 on other"), std::string::npos)
        << both.error().message;
    EXPECT_EQ(where(of_guest("vm-1", "other")).value().source, "other");
    EXPECT_EQ(where(of_guest("u1")).value().source, "large");
}

TEST_F(PlacementTest, UnknownSubjectsAreNotFoundAndEmptyOnesInvalid) {
    EXPECT_EQ(where(of_guest("none")).error().code, Errc::not_found);
    EXPECT_EQ(where(of_guest("vm-1", "small")).error().code, Errc::not_found);
    EXPECT_EQ(where(of_node("none")).error().code, Errc::not_found);
    EXPECT_EQ(where({}).error().code, Errc::invalid);
}

TEST_F(PlacementTest, StaleNodesAnswerWithTheirAge) {
    clock.advance(125s);
    fleet.registry().touch("small", clock.steady());
    fleet.registry().tick(clock.steady());

    const auto answer = where(of_guest("vm-2")).value();

    EXPECT_EQ(to(answer, "large").verdict, Verdict::can);
    ASSERT_FALSE(to(answer, "large").reasons.empty());
    EXPECT_EQ(to(answer, "large").reasons.back().text,
              "node large was last heard of 2 min ago: the answer is as old");
}

TEST_F(PlacementTest, GoneNodesAnswerUnknownWithTheirAge) {
    clock.advance(49h);
    fleet.registry().touch("small", clock.steady());
    fleet.registry().tick(clock.steady());

    const auto answer = where(of_guest("vm-2")).value();
    const auto from_gone = where(of_guest("vm-1")).value();

    EXPECT_EQ(to(answer, "large").verdict, Verdict::unknown);
    ASSERT_EQ(to(answer, "large").reasons.size(), 1U);
    EXPECT_EQ(to(answer, "large").reasons[0].code, migration::ReasonCode::not_comparable);
    EXPECT_NE(to(answer, "large").reasons[0].text.find("2 d ago"), std::string::npos);
    EXPECT_EQ(to(from_gone, "small").verdict, Verdict::unknown);
}

TEST_F(PlacementTest, NodeWithoutProfileAnswersUnknownWithTheProbesError) {
    ASSERT_TRUE(fleet.registry().introduce(
        {.node = "mute", .host_identity = "m", .agent_version = ""}, fleet.now()));
    HostReport report;
    report.probe_error = "QEMU is not installed";
    ASSERT_TRUE(fleet.registry().report_host("mute", report));

    const auto answer = where(of_guest("vm-2")).value();

    EXPECT_EQ(to(answer, "mute").verdict, Verdict::unknown);
    EXPECT_NE(to(answer, "mute").reasons[0].text.find("QEMU is not installed"), std::string::npos);
    EXPECT_EQ(where(of_node("mute")).error().code, Errc::unavailable);
}

TEST_F(PlacementTest, GuestWhoseCpuIsNotKnownCannotBeComparedAndSaysWhy) {
    add_guest_without_cpu("small");

    const auto answer = where(of_guest("odd")).value();

    EXPECT_EQ(answer.source, "small");
    EXPECT_EQ(to(answer, "large").verdict, Verdict::unknown);
    EXPECT_EQ(to(answer, "large").reasons.at(0).text,
              "the CPU of guest odd is not known: too many features");
}

TEST_F(PlacementTest, TargetsThatAreABareCpuAreMarkedAssumed) {
    auto bare = large_host();
    bare.origin = migration::ProfileOrigin::bare_cpu;
    Registry::Document document;
    document.name = "bare";
    document.path = "bare.xml";
    document.profile = &bare;
    ASSERT_TRUE(fleet.registry().add_document(document, fleet.now()));

    const auto answer = where(of_guest("vm-2")).value();

    EXPECT_TRUE(to(answer, "bare").assumed);
    EXPECT_FALSE(to(answer, "large").assumed);
}

TEST_F(PlacementTest, GateThatAloneSaysNoIsToldFirst) {
    auto guest = migration::host_model_guest(large_host());
    guest.model = "NobodyKnows";
    v1::WhereRequest request;
    *request.mutable_subject()->mutable_described() = wire::to_wire(guest);

    const auto answer = where(request).value();

    EXPECT_EQ(to(answer, "large").verdict, Verdict::cannot);
    EXPECT_EQ(to(answer, "large").truth, Verdict::unknown);
    EXPECT_EQ(to(answer, "large").reasons.at(0).layer, migration::Layer::stock);
}

TEST_F(PlacementTest, PinnedTscIsComparedHostByHost) {
    const auto with_tsc = [this](const std::string& name, std::uint64_t hz, bool scalable) {
        add_node(name, large_host());
        HostReport report;
        report.profile_digest = wire::profile_digest(large_host());
        report.facts.tsc_hz = hz;
        report.facts.tsc_scalable = scalable;
        ASSERT_TRUE(fleet.registry().report_host(name, report));
    };
    with_tsc("same", 2'294'787'000, false);
    with_tsc("near", 2'295'000'000, false);
    with_tsc("far", 2'295'400'000, false);
    with_tsc("scales", 2'295'400'000, true);
    auto guest = migration::host_model_guest(small_host());
    guest.tsc_hz = 2'294'787'000;
    v1::WhereRequest request;
    *request.mutable_subject()->mutable_described() = wire::to_wire(guest);

    const auto answer = where(request).value();

    EXPECT_EQ(to(answer, "same").verdict, Verdict::can);
    EXPECT_EQ(to(answer, "near").verdict, Verdict::can);
    EXPECT_EQ(to(answer, "far").verdict, Verdict::cannot);
    EXPECT_EQ(to(answer, "scales").verdict, Verdict::can);
}

TEST_F(PlacementTest, AnswersAgreeWithTheMatrix) {
    const auto cell = [this](const std::string& from, const std::string& target) {
        return fleet.matrix().matrix().cell(*fleet.matrix().place_of(node(from)),
                                            *fleet.matrix().place_of(node(target)));
    };
    for (const std::string from : {"large", "other", "small"}) {
        const auto answer = where(of_node(from)).value();
        for (const auto& [target, comparison] : answer.nodes) {
            EXPECT_EQ(comparison.gate, cell(from, target).gate) << from << " " << target;
            EXPECT_EQ(comparison.truth, cell(from, target).truth) << from << " " << target;
        }
    }
}

}  // namespace
}  // namespace scout::aggregator
