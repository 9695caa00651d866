// SPDX-License-Identifier: Apache-2.0
#include "migration/comparison.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;

template <typename Guest, typename Stock>
concept CanBePrepared = requires(Guest&& guest, Stock&& stock) {
    prepare(std::forward<Guest>(guest), std::forward<Stock>(stock), nullptr);
};
static_assert(CanBePrepared<GuestCpu&, const StockGuest&>);
static_assert(!CanBePrepared<GuestCpu, const StockGuest&>, "would outlive its guest");
static_assert(!CanBePrepared<const GuestCpu&, StockGuest>);
static_assert(!CanBePrepared<GuestCpu, StockGuest>);

Comparison ask(const Profile& from, const Profile& to) {
    return test::compare_hosts(from, to, test::small_map());
}

TEST(ComparisonTest, MarksWhatTheLabelsLetThroughAndTheHypervisorRefuses) {
    const auto source = host({.model = "Large", .usable = {"Large", "Small"}});
    const auto target = host({.model = "Small", .usable = {"Small"}, .not_usable = {"Large"}});

    const auto answer = ask(source, target);

    EXPECT_EQ(answer.gate, Verdict::can);
    EXPECT_EQ(answer.truth, Verdict::cannot);
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    EXPECT_TRUE(answer.gap());
    EXPECT_THAT(answer.missing, testing::ElementsAre("aes", "avx"));
}

TEST(ComparisonTest, ShowsTheGatesReasonFirstWhereItAloneDecides) {
    const auto unknown = host({.model = "Newest", .usable = {"Newest"}});
    const auto target = host({.model = "Newest", .usable = {"Small"}});

    const auto answer = ask(unknown, target);

    EXPECT_EQ(answer.truth, Verdict::unknown);
    EXPECT_EQ(answer.gate, Verdict::cannot);
    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_GE(answer.reasons.size(), 2U);
    EXPECT_EQ(answer.reasons.front().layer, Layer::stock);
    EXPECT_EQ(answer.reasons.back().layer, Layer::truth);
}

TEST(ComparisonTest, SaysThatTheSetOfABareCpuWasAssumed) {
    auto bare = host({});
    bare.origin = ProfileOrigin::bare_cpu;

    EXPECT_TRUE(ask(host({}), bare).assumed);
    EXPECT_FALSE(ask(bare, host({})).assumed);
    EXPECT_EQ(ask(host({}), bare).map, "test map");
}

TEST(ComparisonTest, CallsAMissingLabelUnknownWhereTheFeaturesCouldNotBeTold) {
    const auto source = host({.model = "Newest", .require = {"avx"}, .usable = {"Newest"}});
    const auto target = host({.model = "Newest", .usable = {"Newest"}});

    const auto answer = ask(source, target);

    EXPECT_EQ(answer.gate, Verdict::unknown);
    EXPECT_EQ(answer.verdict, Verdict::unknown);
}

/// Answer for a live guest on a host that only its documents describe.
Comparison ask_live(const GuestCpu& guest, const Profile& to, const CpuMap* map, bool derived) {
    const HostFacts facts;
    const auto labels = standalone_labels(to, facts, map);
    return compare(guest, stock_guest(guest, {}),
                   {.profile = to, .facts = facts, .labels = labels, .labels_derived = derived},
                   map);
}

TEST(ComparisonTest, TakesNoMissingLabelForANoWhereTheDocumentsDoNotTellIt) {
    const auto map = test::small_map();
    const auto target = host({.model = "Small", .usable = {"Small"}});
    const auto with_machines = host({.model = "Small", .usable = {"Small"}, .machines = {"pc"}});
    GuestCpu guest{.arch = "x86_64", .virt_type = "kvm", .vendor = "Intel", .model = "Small"};

    guest.machine = "q35";
    EXPECT_EQ(ask_live(guest, target, &map, true).verdict, Verdict::can) << "passed over";
    EXPECT_EQ(ask_live(guest, target, &map, false).gate, Verdict::cannot) << "case 32";
    EXPECT_EQ(ask_live(guest, with_machines, &map, true).gate, Verdict::cannot);

    guest.tsc_hz = 2'000'000'000;
    const auto pinned = ask_live(guest, target, &map, true);
    EXPECT_EQ(pinned.gate, Verdict::unknown);
    EXPECT_EQ(pinned.verdict, Verdict::unknown);
    EXPECT_EQ(ask_live(guest, target, &map, false).gate, Verdict::cannot);
}

TEST(ComparisonTest, TakesNoMissingModelOrVendorForANoOnABareCpu) {
    auto bare = host({.model = "Small", .require = {"cx8", "fpu", "mmx", "sse"}});
    bare.origin = ProfileOrigin::bare_cpu;
    const GuestCpu guest{.arch = "x86_64",
                         .virt_type = "kvm",
                         .vendor = "Intel",
                         .model = "Small",
                         .require = {"cx8", "fpu", "mmx", "sse"}};

    const auto without_map = ask_live(guest, bare, nullptr, true);
    EXPECT_EQ(without_map.gate, Verdict::unknown);
    EXPECT_EQ(without_map.truth, Verdict::can);
    bare.vendor.clear();
    EXPECT_EQ(ask_live(guest, bare, nullptr, true).gate, Verdict::unknown);
    bare.origin = ProfileOrigin::domain_capabilities;
    bare.arch.clear();
    EXPECT_NE(ask_live(guest, bare, nullptr, true).verdict, Verdict::can);
}

TEST(ComparisonTest, SaysOnceWhatNoAnswerJudges) {
    GuestCpu guest{.model = "Small"};
    EXPECT_EQ(not_judged(guest), "devices are not judged: they are not told of this guest");

    guest.ties = FeatureSet{"hostdev pci"};
    EXPECT_EQ(not_judged(guest), "") << "each answer says it";
    EXPECT_EQ(not_judged(host_model_guest(host({}))), "") << "a guest yet to start has none";
}

TEST(ComparisonTest, SummaryCountsWhatMatters) {
    Placement placement;
    EXPECT_EQ(summary(placement), "can go to 0 of 0 nodes");
    placement.nodes.resize(3);
    placement.nodes[0].comparison.verdict = Verdict::can;
    placement.nodes[1].comparison = {
        .verdict = Verdict::cannot, .gate = Verdict::can, .truth = Verdict::cannot};

    EXPECT_EQ(summary(placement),
              "can go to 1 of 3 nodes; 1 cannot be compared; 1 would be let through by KubeVirt's "
              "labels and fail");
}

}  // namespace
}  // namespace scout::migration
