// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_manifest.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::cluster {
namespace {

using migration::MoveRequest;
using migration::NodeRequirement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n";

std::string manifest_of(const std::string& spec, const std::string& metadata = {}) {
    return head + "metadata: {name: move, namespace: shop" +
           (metadata.empty() ? "" : ", " + metadata) + "}\nspec: {vmiName: web" +
           (spec.empty() ? "" : ", " + spec) + "}\n";
}
std::string annotated(const std::string& term, const std::string& spec = {}) {
    return manifest_of(spec,
                       "annotations: {virt-scout.io/added-node-selector-term: '" + term + "'}");
}
MoveRequest read(const std::string& text) {
    auto request = read_move_manifest(text);
    EXPECT_TRUE(request) << request.error().message;
    return request ? *std::move(request) : MoveRequest{};
}
/// The codes of all that would be refused.
std::vector<std::string> codes(const std::string& text) {
    std::vector<std::string> out;
    for (const auto& fault : migration::request_faults(read(text))) {
        out.emplace_back(fault.code);
    }
    return out;
}

TEST(MoveManifestTest, SaysWhatItAsksFor) {
    const auto request = read(manifest_of(R"(addedNodeSelector: {disk: ssd},
  addedNodeSelectorTerm: {matchFields: [{key: metadata.name, operator: In, values: [n2]}],
  matchExpressions: [{key: cpus, operator: Gt, values: ["3"]}]})"));

    EXPECT_EQ(request.space, "shop");
    EXPECT_EQ(request.name, "move");
    EXPECT_EQ(request.vmi, "web");
    EXPECT_EQ(request.wish.added, (migration::Labels{{"disk", "ssd"}}));
    ASSERT_TRUE(request.wish.term);
    EXPECT_THAT(request.wish.term->fields,
                ElementsAre(NodeRequirement{"metadata.name", "In", {"n2"}}));
    EXPECT_THAT(request.wish.term->expressions, ElementsAre(NodeRequirement{"cpus", "Gt", {"3"}}));
    EXPECT_EQ(request.give_up_seconds, 300);
    EXPECT_THAT(request.faults, IsEmpty());
    EXPECT_THAT(request.notes, ElementsAre(HasSubstr("KubeVirt up to 1.9 has no")));
}

TEST(MoveManifestTest, ListOfOneTermIsThatTerm) {
    const std::string one = "{matchExpressions: [{key: disktype, operator: In, values: [ssd]}]}";
    const auto as_object = read(manifest_of("addedNodeSelectorTerm: " + one));
    const auto as_list = read(manifest_of("addedNodeSelectorTerm: [" + one + "]"));
    const auto as_text = read(annotated(one));
    const auto as_json = read(annotated(
        R"([{"matchExpressions":[{"key":"disktype","operator":"In","values":["ssd"]}]}])"));

    ASSERT_TRUE(as_object.wish.term);
    EXPECT_EQ(as_list.wish.term, as_object.wish.term);
    EXPECT_EQ(as_text.wish.term, as_object.wish.term);
    EXPECT_EQ(as_json.wish.term, as_object.wish.term);
    EXPECT_THAT(as_text.notes, IsEmpty());
    EXPECT_THAT(codes(annotated(one, "addedNodeSelectorTerm: [" + one + "]")), IsEmpty())
        << "the same in both";
}

TEST(MoveManifestTest, JsonIsReadToo) {
    const auto request = read(
        R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",
            "metadata":{"generateName":"move-"},"spec":{"vmiName":"web","addedNodeSelector":null}})");
    EXPECT_EQ(request.vmi, "web");
    EXPECT_EQ(request.name, "");
    EXPECT_THAT(request.faults, IsEmpty());
}

TEST(MoveManifestTest, PatienceIsTheMigrationsOwn) {
    const auto with = [](const std::string& value) {
        return read(manifest_of(
            {},
            "annotations: {kubevirt.io/migrationUnschedulablePodTimeoutSeconds: " + value + "}"));
    };
    EXPECT_EQ(with("'20'").give_up_seconds, 20);
    EXPECT_EQ(with("'+60'").give_up_seconds, 60) << "as Go reads it";
    EXPECT_EQ(with("'+-6'").give_up_seconds, 300);
    EXPECT_EQ(with("'-5'").give_up_seconds, 0);
    EXPECT_EQ(with("'9223372036854775808'").give_up_seconds, 300);
    EXPECT_THAT(with("'1m'").notes, ElementsAre(HasSubstr("passes it over")));
    EXPECT_EQ(with("'1200'").give_up_seconds, 900) << "the time-out of all pending pods is first";
    const std::string both = ", kubevirt.io/migrationPendingPodTimeoutSeconds: ";
    EXPECT_EQ(with("'1200'" + both + "'1000'").give_up_seconds, 1000);
    EXPECT_EQ(with("'20'" + both + "'10'").give_up_seconds, 10);
    EXPECT_EQ(with("'20'" + both + "'-10'").give_up_seconds, 0);
    EXPECT_EQ(with("'x'" + both + "'y'").give_up_seconds, 300);
    EXPECT_THAT(with("'x'" + both + "'y'").notes,
                ElementsAre(HasSubstr("Unschedulable"), HasSubstr("migrationPending")));
    EXPECT_EQ(with("'9223372036854775807'" + both + "'9223372036854775807'").give_up_seconds,
              INT64_MAX);
    EXPECT_THAT(with("20").faults,
                ElementsAre(testing::Field(&migration::MoveReason::text, HasSubstr("in quotes"))));
}

struct Row {
    std::string text;
    std::vector<std::string> codes;
};
void PrintTo(const Row& row, std::ostream* out) {
    *out << row.text;
}
class RefusedMoveTest : public testing::TestWithParam<Row> {};

TEST_P(RefusedMoveTest, SaysWhy) {
    EXPECT_THAT(codes(GetParam().text), testing::ElementsAreArray(GetParam().codes));
}

std::string term(const std::string& text) {
    return manifest_of("addedNodeSelectorTerm: " + text);
}
std::string asks(const std::string& requirement) {
    return term("{matchExpressions: [" + requirement + "]}");
}

INSTANTIATE_TEST_SUITE_P(
    Terms, RefusedMoveTest,
    testing::Values(
        Row{term("{}"), {"term-empty"}}, Row{term("[]"), {"term-empty"}},
        Row{term("[{}]"), {"term-empty"}}, Row{term("null"), {"term-empty"}},
        Row{term(""), {"term-empty"}}, Row{term("[null]"), {"term-empty"}},
        Row{term("{matchExpressions: []}"), {"term-empty"}},
        Row{term("{matchFields: null}"), {"term-empty"}}, Row{annotated(""), {"term-empty"}},
        Row{annotated("# nothing"), {"term-empty"}}, Row{term("[{}, {}]"), {"term-count"}},
        Row{annotated("{} {}"), {"term-count"}}, Row{term("n2"), {"type"}},
        Row{term("[n2]"), {"type"}}, Row{term("{matchNames: [n2]}"), {"unknown-field"}},
        Row{term("{matchFields: n2}"), {"type"}}, Row{term("{matchFields: [n2]}"), {"type"}},
        Row{asks("{key: a, op: In, values: [b]}"), {"unknown-field"}},
        Row{asks("{key: a, operator: In, values: b}"), {"type"}},
        Row{asks("{key: a, operator: Gt, values: [3]}"), {"type"}},
        Row{asks("{key: yes, operator: Exists}"), {"type"}},
        Row{asks("{key: a, operator: Near, values: [b]}"), {"term"}},
        Row{asks("{key: a, operator: In}"), {"term"}},
        Row{asks("{key: a, operator: Exists, values: [b]}"), {"term"}},
        Row{asks("{key: a, operator: Gt, values: [b]}"), {"term"}},
        Row{asks("{key: a, operator: Gt, values: ['9223372036854775808']}"), {"term"}},
        Row{asks("{}"), {"term", "term"}},
        Row{term("{matchFields: [{key: spec.x, operator: In, values: [n2]}]}"), {"term"}},
        Row{annotated("{matchFields: ["), {"type"}}, Row{annotated("n2"), {"type"}},
        Row{annotated("{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}",
                      "addedNodeSelectorTerm: {matchFields: [{key: metadata.name, operator: In, "
                      "values: [n3]}]}"),
            {"term-differs"}}));

INSTANTIATE_TEST_SUITE_P(
    Others, RefusedMoveTest,
    testing::Values(
        Row{manifest_of(""), {}},
        Row{"apiVersion: kubevirt.io/v1alpha3\nkind: VirtualMachineInstanceMigration\n"
            "metadata: {generateName: a}\nspec: {vmiName: web}",
            {}},
        Row{"apiVersion: v1\nkind: VirtualMachineInstanceMigration\nmetadata: {name: a}\n"
            "spec: {vmiName: web}",
            {"api-version"}},
        Row{head, {"name", "vmi-name"}},
        Row{head + "metadata: {name: A_b}\nspec: {vmiName: w}", {"name"}},
        Row{head + "metadata: [a]\nspec: web", {"type", "name", "type", "vmi-name"}},
        Row{manifest_of("addedNodeSelektor: {a: b}"), {"unknown-field"}},
        Row{manifest_of("") + "targetNode: n2\n", {"unknown-field"}},
        Row{manifest_of("addedNodeSelector: [a]"), {"type"}},
        Row{manifest_of("addedNodeSelector: {ssd: true}"), {"type"}},
        Row{manifest_of("addedNodeSelector: {ssd: 'a b'}"), {"label"}},
        Row{manifest_of("addedNodeSelector: {virt-scout.io/target-term: abc}"), {"sentinel"}},
        Row{manifest_of("priority: system-critical"), {"priority"}},
        Row{manifest_of("sendTo: {migrationID: a, connectURL: 'https://b:1'}"), {"decentralized"}},
        Row{manifest_of("sendTo: {migrationID: a}, receive: {migrationID: b}"), {"decentralized"}},
        Row{manifest_of("sendTo: {migrationID: 7}"), {"type"}}));

TEST(MoveManifestTest, WhatIsNotOneMigrationIsAnError) {
    const std::vector<std::pair<std::string, const char*>> rows{
        {"", "expected one VirtualMachineInstanceMigration, found nothing"},
        {manifest_of("") + "---\n" + manifest_of(""), "found 2 documents: judge each by itself"},
        {"kind: Pod", "found kind 'Pod'"},
        {"[1]", "found what has no kind"},
        {"{}", "found what has no kind"},
        {"kind: VirtualMachineInstanceMigrationList\nitems: []", "found kind 'Virtual"},
        {"kind: [", "line "},
        {R"({"kind": "VirtualMachineInstanceMigration")", "no JSON"}};
    for (const auto& [text, expected] : rows) {
        const auto request = read_move_manifest(text);
        ASSERT_FALSE(request) << text;
        EXPECT_EQ(request.error().code, Errc::invalid);
        EXPECT_THAT(request.error().message, HasSubstr(expected));
    }
}

TEST(HostileMoveTest, AliasBombsAreNotSetOff) {
    std::string bomb = "a: &a [x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c < 'z'; ++c) {
        const std::string before = "*" + std::string(1, static_cast<char>(c - 1));
        bomb +=
            std::string(1, c) + ": &" + std::string(1, c) + " [" + before + "," + before + "]\n";
    }
    EXPECT_THAT(read_move_manifest(head + bomb).error().message, HasSubstr("aliases"));
    EXPECT_THAT(codes(manifest_of({},
                                  "annotations: {virt-scout.io/added-node-selector-term: "
                                  "'{matchFields: &a [], matchExpressions: *a}'}")),
                ElementsAre("type"));
}

TEST(HostileMoveTest, HugeTermsEndInOneFault) {
    std::string values;
    for (unsigned i = 0; i < 10'000; ++i) {
        values += (i == 0 ? "" : ",") + std::string("v") + std::to_string(i);
    }
    const auto asked = "{key: zone, operator: In, values: [" + values + "]}";
    EXPECT_THAT(codes(asks(asked)), ElementsAre("too-large"));
    EXPECT_THAT(codes(annotated("{matchExpressions: [" + asked + "]}")), ElementsAre("too-large"));

    const std::string megabyte(std::size_t{1} << 20U, 'x');
    EXPECT_THAT(codes(asks("{key: zone, operator: In, values: [" + megabyte + "]}")),
                ElementsAre("too-large"));
    EXPECT_THAT(codes(annotated(megabyte)), ElementsAre("too-large"));

    std::string requirements = "{}";
    for (unsigned i = 0; i < 100'000; ++i) {
        requirements += ",{}";
    }
    const auto faults = migration::request_faults(read(asks(requirements)));
    ASSERT_FALSE(faults.empty());
    EXPECT_EQ(faults[0].code, "too-large");
}

TEST(HostileMoveTest, ManyFaultsAreFewAndShort) {
    std::string labels;
    std::string unknown;
    for (unsigned i = 0; i < 20'000; ++i) {
        labels += (i == 0 ? "" : ",") + std::string("'k ") + std::to_string(i) + "': x";
        unknown += "f" + std::to_string(i) + ": 1\n";
    }
    const auto faults = migration::request_faults(
        read(manifest_of("addedNodeSelector: {" + labels + "}") + unknown));
    EXPECT_LE(faults.size(), 20U);
    const std::string deep(10'000, '[');
    EXPECT_FALSE(read_move_manifest(head + "spec: " + deep));
}

/// Cut anywhere, it is read or an error, and never more than either.
TEST(HostileMoveTest, TruncatedIsAnswered) {
    const auto whole = annotated(R"({"matchFields":[{"key":"metadata.name","operator":"In"}]})",
                                 "addedNodeSelector: {disk: ssd}, priority: x");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto request = read_move_manifest(whole.substr(0, length));
        EXPECT_TRUE(request || !request.error().message.empty());
    }
}

}  // namespace
}  // namespace scout::cluster
