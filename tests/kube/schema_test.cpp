// SPDX-License-Identifier: Apache-2.0
#include "kube/schema.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/test_data.h"

namespace scout::kube {
namespace {

using Path = std::vector<std::string>;

constexpr std::string_view definition = R"({
  "kind": "CustomResourceDefinition",
  "spec": {"versions": [
    {"name": "v1alpha1", "served": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
    {"name": "v1", "served": true, "schema": {"openAPIV3Schema": {
      "type": "object",
      "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {
          "size": {"type": "integer"},
          "items": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}}}},
          "byName": {"type": "object", "additionalProperties": {"type": "object", "properties": {
            "age": {"type": "integer"}}}},
          "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}]}})";

FieldFate fate(const Path& path) {
    return field_fate(definition, "v1", path).value();
}

TEST(SchemaTest, FindsFieldsThroughListsAndMaps) {
    EXPECT_EQ(fate({"spec", "size"}), FieldFate::declared);
    EXPECT_EQ(fate({"spec", "items", "name"}), FieldFate::declared);
    EXPECT_EQ(fate({"spec", "byName", "age"}), FieldFate::declared);
    EXPECT_EQ(fate({"metadata", "labels"}), FieldFate::declared);
}

TEST(SchemaTest, TellsWhatTheServerDropsFromWhatItKeeps) {
    EXPECT_EQ(fate({"spec", "weight"}), FieldFate::pruned);
    EXPECT_EQ(fate({"status"}), FieldFate::pruned);
    EXPECT_EQ(fate({"spec", "items", "nope"}), FieldFate::pruned);
    EXPECT_EQ(fate({"spec", "size", "nope"}), FieldFate::pruned);
    EXPECT_EQ(fate({"spec", "open", "any", "thing"}), FieldFate::kept);
}

TEST(SchemaTest, SaysWhenThereIsNothingToLookIn) {
    EXPECT_EQ(field_fate(definition, "v1alpha1", {"spec"}).error().code, Errc::not_found);
    EXPECT_EQ(field_fate(definition, "v2", {"spec"}).error().code, Errc::not_found);
    for (const std::string_view text : {"", "[]", "{}", R"({"spec":3})",
                                        R"({"spec":{"versions":[{"name":"v1","served":true}]}})"}) {
        EXPECT_EQ(field_fate(text, "v1", {"spec"}).error().code, Errc::invalid) << text;
    }
}

TEST(SchemaTest, KnowsTheFieldsOfStockKubevirt) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto crds = data / "kubevirt" / "crds";
    const auto machines = read_file(crds / "virtualmachines.kubevirt.io.json").value();
    const auto migrations =
        read_file(crds / "virtualmachineinstancemigrations.kubevirt.io.json").value();

    EXPECT_EQ(field_fate(migrations, "v1", {"spec", "vmiName"}).value(), FieldFate::declared);
    EXPECT_EQ(field_fate(migrations, "v1", {"spec", "addedNodeSelector"}).value(),
              FieldFate::declared);
    EXPECT_EQ(field_fate(migrations, "v1", {"spec", "addedNodeSelectorTerm"}).value(),
              FieldFate::pruned);
    const Path deep{"spec",
                    "template",
                    "spec",
                    "affinity",
                    "podAffinity",
                    "preferredDuringSchedulingIgnoredDuringExecution",
                    "podAffinityTerm",
                    "labelSelector",
                    "matchExpressions",
                    "values"};
    EXPECT_EQ(field_fate(machines, "v1", deep).value(), FieldFate::declared);
}

}  // namespace
}  // namespace scout::kube
