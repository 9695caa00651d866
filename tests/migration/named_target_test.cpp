// SPDX-License-Identifier: Apache-2.0
#include "migration/named_target.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string host{"kubernetes.io/hostname"};

NodeSelectorTerm expression(std::string key, std::string op, std::vector<std::string> values) {
    return {.expressions = {{std::move(key), std::move(op), std::move(values)}}, .fields = {}};
}
NodeSelectorTerm named(std::string node) {
    return {.expressions = {}, .fields = {{"metadata.name", "In", {std::move(node)}}}};
}
MoveRequest request(MoveWish wish = {}) {
    MoveRequest out;
    out.space = "shop";
    out.name = "move";
    out.vmi = "web";
    out.wish = std::move(wish);
    out.term_path = "t";
    return out;
}
MoveRequest with_term(NodeSelectorTerm term) {
    return request({.added = {}, .term = std::move(term)});
}
std::vector<std::string> codes(const std::vector<MoveReason>& reasons) {
    std::vector<std::string> out;
    for (const auto& reason : reasons) {
        out.emplace_back(reason.code);
    }
    return out;
}

TEST(RequestFaultsTest, NothingIsWrongWithAPlainRequest) {
    EXPECT_THAT(request_faults(request()), IsEmpty());
    EXPECT_THAT(request_faults(request({.added = {{"disk", "ssd"}, {"a.b/c", ""}}})), IsEmpty());
    EXPECT_THAT(request_faults(with_term(named("n2"))), IsEmpty());
    EXPECT_THAT(request_faults(with_term(expression("cpus", "Gt", {"9223372036854775807"}))),
                IsEmpty());
}

struct TermRow {
    NodeSelectorTerm term;
    const char* text;
};
TEST(RequestFaultsTest, TermsAreRefusedInTheWordsOfTheApiServer) {
    const std::vector<TermRow> rows{
        {expression("disk", "In", {}), "t.matchExpressions[0].values: Required value"},
        {expression("disk", "Exists", {"x"}), "t.matchExpressions[0].values: Forbidden"},
        {expression("disk", "Near", {"x"}), "not a valid selector operator"},
        {expression("cpus", "Gt", {"1.5"}), "the value must be an integer"},
        {expression("cpus", "Lt", {"9223372036854775808"}), "the value must be an integer"},
        {expression("a b", "Exists", {}), "t.matchExpressions[0].key: Invalid value: \"a b\""},
        {{.expressions = {}, .fields = {{"spec.x", "In", {"n"}}}},
         "not a valid field selector key"}};
    for (const auto& row : rows) {
        const auto faults = request_faults(with_term(row.term));
        ASSERT_THAT(codes(faults), ElementsAre("term")) << row.text;
        EXPECT_THAT(faults[0].text, HasSubstr(row.text));
    }
}

TEST(RequestFaultsTest, EmptyTermIsNotAnywhere) {
    const auto faults = request_faults(with_term({}));

    ASSERT_THAT(codes(faults), ElementsAre("term-empty"));
    EXPECT_THAT(faults[0].text, HasSubstr("an empty term matches no node at all"));
}

TEST(RequestFaultsTest, HugeTermsAreRefusedByTheirSizeAlone) {
    const std::vector<std::string> many(10'000, "not a value");
    const auto by_values = request_faults(with_term(expression("zone", "In", many)));
    ASSERT_THAT(codes(by_values), ElementsAre("too-large"));
    EXPECT_THAT(by_values[0].text, HasSubstr("found 10001 and"));

    const std::string megabyte(std::size_t{1} << 20U, 'x');
    EXPECT_THAT(codes(request_faults(with_term(expression(megabyte, "In", {"a"})))),
                ElementsAre("too-large"));

    const NodeSelectorTerm keys{.expressions = std::vector<NodeRequirement>(6000), .fields = {}};
    EXPECT_THAT(codes(request_faults(with_term(keys))), ElementsAre("too-large"));
}

TEST(RequestFaultsTest, OfManyFaultsTheFirstAreToldAndTheRestCounted) {
    const std::vector<std::string> many(100, "not a value");

    const auto faults = request_faults(with_term(expression("zone", "In", many)));

    ASSERT_THAT(faults, SizeIs(20));
    EXPECT_THAT(faults.back().text, HasSubstr("; and 80 more"));
}

TEST(RequestFaultsTest, LabelsThatNoNodeCanHaveAreRefused) {
    const std::vector<std::pair<Labels, const char*>> rows{
        {{{"disk", std::string(64, 'x')}}, "value 'xxx"},
        {{{"disk", "a/b"}}, "value 'a/b'"},
        {{{"a b", "x"}}, "key 'a b'"},
        {{{"", "x"}}, "key ''"},
        {{{"a/b/c", "x"}}, "key 'a/b/c'"},
        {{{std::string(std::size_t{1} << 20U, 'k'), "x"}}, "key 'kkk"}};
    for (const auto& [added, text] : rows) {
        const auto faults = request_faults(request({.added = added}));
        ASSERT_THAT(codes(faults), ElementsAre("label")) << text;
        EXPECT_THAT(faults[0].text, AllOf(HasSubstr(text), HasSubstr("hangs without an event")));
        EXPECT_LT(faults[0].text.size(), 600U);
    }
}

TEST(RequestFaultsTest, TheSentinelStandsForATermOnly) {
    const Labels sentinel{{std::string{sentinel_key}, "0123"}};
    EXPECT_THAT(codes(request_faults(request({.added = sentinel}))), ElementsAre("sentinel"));
    EXPECT_THAT(request_faults(request({.added = sentinel, .term = named("n2")})), IsEmpty());
}

TEST(RequestFaultsTest, PriorityIsVirtControllersAlone) {
    auto asked = request();
    asked.priority = "system-critical";
    EXPECT_THAT(codes(request_faults(asked)), ElementsAre("priority"));
}

TEST(RequestFaultsTest, PeersAreHeldAgainstEachOther) {
    auto asked = request();
    asked.send_to = {.id = "a", .url = "10.0.0.1:9185"};
    EXPECT_TRUE(asked.crosses());
    EXPECT_THAT(request_faults(asked), IsEmpty());
    asked.send_to->url = "https://10.0.0.1:9185";
    EXPECT_THAT(codes(request_faults(asked)), ElementsAre("decentralized"));
    asked.receive = {.id = "a", .url = {}};
    EXPECT_FALSE(asked.crosses()) << "it runs as a plain local move";
    EXPECT_THAT(request_faults(asked), IsEmpty());
    asked.receive->id = "b";
    EXPECT_THAT(codes(request_faults(asked)), ElementsAre("decentralized"));
}

class AdmissionFaultsTest : public testing::Test {
protected:
    [[nodiscard]] std::vector<std::string> faults() const {
        return codes(admission_faults(asked, vm));
    }

    MoveRequest asked = request();
    AskedVm vm{.phase = "Running",
               .node = "n1",
               .hostname = "host-1",
               .not_movable = {},
               .why = {},
               .under_way = {},
               .crossing_gate = std::nullopt,
               .own = {}};
};

TEST_F(AdmissionFaultsTest, RunningVmIsMoved) {
    EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(AdmissionFaultsTest, VmAtItsEndIsNotAndOneBeforeItIsWaitedFor) {
    for (const char* phase : {"Succeeded", "Failed"}) {
        vm.phase = phase;
        EXPECT_THAT(faults(), ElementsAre("not-running")) << phase;
    }
    asked.receive = MoveRequest::Peer{};
    EXPECT_THAT(faults(), ElementsAre("not-running"));
    asked.receive.reset();
    for (const char* phase : {"", "Pending", "Scheduling", "Scheduled", "WaitForSync"}) {
        vm.phase = phase;
        EXPECT_THAT(faults(), IsEmpty()) << phase;
    }
}

TEST_F(AdmissionFaultsTest, VmThatIsNotMigratableIsNotUnlessItsDisksGoAlong) {
    vm.not_movable = "DisksNotLiveMigratable";
    vm.why = "PVC is not shared";
    EXPECT_THAT(faults(), ElementsAre("not-migratable"));
    EXPECT_THAT(admission_faults(asked, vm)[0].text, HasSubstr("(PVC is not shared)"));
    asked.send_to = MoveRequest::Peer{};
    EXPECT_THAT(faults(), IsEmpty());
    vm.not_movable = "InterfaceNotLiveMigratable";
    EXPECT_THAT(faults(), ElementsAre("not-migratable"));
}

TEST_F(AdmissionFaultsTest, CrossingNeedsItsGateWhereThatIsKnown) {
    asked.send_to = MoveRequest::Peer{};
    EXPECT_THAT(faults(), IsEmpty());
    vm.crossing_gate = true;
    EXPECT_THAT(faults(), IsEmpty());
    vm.crossing_gate = false;
    EXPECT_THAT(faults(), ElementsAre("decentralized"));
}

TEST_F(AdmissionFaultsTest, OneMigrationAtATimeAndEachOnce) {
    vm.under_way = "other";
    EXPECT_THAT(faults(), ElementsAre("under-way"));
    vm.name_taken = true;
    vm.under_way = "move";
    EXPECT_THAT(faults(), ElementsAre("name-taken"));
    vm.under_way = {};
    EXPECT_THAT(faults(), ElementsAre("name-taken"));
}

/// Case 24.
TEST_F(AdmissionFaultsTest, ItsOwnNodeIsNoTarget) {
    asked.wish.added = {{host, "host-1"}};
    EXPECT_THAT(faults(), ElementsAre("already-there"));
    asked.wish.added = {{host, "n1"}};
    EXPECT_THAT(faults(), IsEmpty()) << "no node is called so";
    vm.hostname = {};
    EXPECT_THAT(faults(), ElementsAre("already-there"));
    vm.own = {{host, "n3"}};
    EXPECT_THAT(faults(), IsEmpty()) << "the VM's own value stays";
}

/// Case 24.
TEST(WishTest, TheVmsOwnKeysStay) {
    const Labels own{{"disk", "ssd"}, {"pool", "vms"}};
    const Labels added{{"disk", "nvme"}, {"pool", "vms"}, {"zone", "b"}};

    EXPECT_THAT(ignored_keys(added, own), ElementsAre("disk"));
    EXPECT_EQ(effective(added, own), (Labels{{"zone", "b"}}));
    const auto remarks = wish_remarks({.added = added}, own, false);
    ASSERT_THAT(codes(remarks), ElementsAre("ignored-key"));
    EXPECT_THAT(remarks[0].text, AllOf(HasSubstr("disk=nvme"), HasSubstr("disk=ssd")));
}

TEST(WishTest, CpuLabelsStayWithAHostModelVm) {
    const MoveWish wish{.added = {{"cpu-feature.node.kubevirt.io/avx", "true"}}};
    EXPECT_THAT(codes(wish_remarks(wish, {}, true)), ElementsAre("sticks"));
    EXPECT_THAT(wish_remarks(wish, {}, false), IsEmpty());
    EXPECT_THAT(wish_remarks(wish, wish.added, true), IsEmpty()) << "asked for anyway";
}

TEST(WishTest, NodesMustHaveAllOfIt) {
    const Labels node{{"disk", "ssd"}, {"zone", "a"}};
    const auto zone_a = expression("zone", "In", {"a"});
    EXPECT_TRUE(meets({}, node, "n1"));
    EXPECT_TRUE(meets({.added = {{"disk", "ssd"}}, .term = zone_a}, node, "n1"));
    EXPECT_FALSE(meets({.added = {{"disk", "hdd"}}, .term = zone_a}, node, "n1"));
    EXPECT_FALSE(meets({.added = {{"rack", "1"}}}, node, "n1"));
    EXPECT_FALSE(meets({.added = {}, .term = named("n2")}, node, "n1"));
    EXPECT_FALSE(meets({.added = {}, .term = NodeSelectorTerm{}}, node, "n1"));
    EXPECT_EQ(lacking({.added = {{"disk", "ssd"}}, .term = zone_a}, node, "n1"), "");
    EXPECT_EQ(lacking({.added = {{"disk", "hdd"}, {"rack", "1"}}, .term = named("n2")}, node, "n1"),
              "disk=hdd (it has disk=ssd), rack=1 (it has no such label), metadata.name In (n2)");
    EXPECT_EQ(lacking({.added = {}, .term = NodeSelectorTerm{}}, node, "n1"),
              "an empty term, which no node meets");
    EXPECT_EQ(lacking({.added = {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}}}, node, "n1"),
              "a=1 (it has no such label), b=1 (it has no such label), c=1 (it has no such label)");
}

TEST(WishTest, NodesAreNamedByNameAndHostName) {
    auto term = named("n2");
    term.expressions = {{host, "In", {"a", "b"}}, {host, "NotIn", {"c"}}, {"zone", "In", {"z"}}};

    const auto found = named_nodes({.added = {{host, "h"}}, .term = term});

    EXPECT_THAT(found.names, ElementsAre(ElementsAre("n2")));
    EXPECT_THAT(found.hostnames, ElementsAre(ElementsAre("h"), ElementsAre("a", "b")));
}

TEST(WishTest, NodeThatDoesNotMeetTheTermIsRefusedWithWhatItLacks) {
    auto term = named("n2");
    term.expressions = {{"disk", "In", {"ssd"}}, {"zone", "Exists", {}}};
    Comparison answer{.verdict = Verdict::can, .gate = Verdict::can, .truth = Verdict::can};

    apply(term, {{"disk", "ssd"}}, "n1", answer);

    EXPECT_EQ(answer.verdict, Verdict::cannot);
    ASSERT_THAT(answer.reasons, SizeIs(1));
    EXPECT_EQ(answer.reasons[0].code, ReasonCode::selector);
    EXPECT_THAT(answer.reasons[0].keys, ElementsAre("zone", "metadata.name"));
    EXPECT_THAT(answer.reasons[0].text, HasSubstr("zone Exists, metadata.name In (n2)"));

    const NodeSelectorTerm huge{
        .expressions = std::vector<NodeRequirement>(5000, {"zone", "Exists", {}}), .fields = {}};
    apply(huge, {}, "n1", answer);
    EXPECT_LT(answer.reasons[0].text.size() + answer.reasons[1].text.size(), 500U);

    Comparison other{.verdict = Verdict::can, .gate = Verdict::can, .truth = Verdict::can};
    apply(term, {{"disk", "ssd"}, {"zone", ""}}, "n2", other);
    EXPECT_EQ(other.verdict, Verdict::can);
}

TEST(WishTest, IsToldInWords) {
    auto term = expression("zone", "In", {"1", "2", "3", "4", "5", "6", "7"});
    EXPECT_EQ(to_text(MoveWish{.added = {{"disk", "ssd"}}, .term = term}),
              "disk=ssd, zone In (1, 2, 3, 4, 5, … 2 more)");
    EXPECT_EQ(to_text(MoveWish{}), "");
    EXPECT_THAT(to_text(named("n2")), Not(HasSubstr("matchFields")));
}

}  // namespace
}  // namespace scout::migration
