// SPDX-License-Identifier: Apache-2.0
// The real program on a fleet: what it holds must not grow with pairs of nodes.
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

namespace json = boost::json;

/// Nodes of two kinds, each with features that guests of it need and the other kind lacks.
json::object fleet_of(int nodes) {
    json::array items;
    for (int i = 0; i < nodes; ++i) {
        json::object labels{{"kubernetes.io/arch", "amd64"},
                            {"kubevirt.io/schedulable", "true"},
                            {"host-model-cpu.node.kubevirt.io/Large", "true"},
                            {"cpu-model-migration.node.kubevirt.io/Large", "true"},
                            {"cpu-vendor.node.kubevirt.io/Intel", "true"},
                            {"machine-type.node.kubevirt.io/q35", "true"}};
        for (int feature = 0; feature < 30; ++feature) {
            const auto own =
                "feature-" + std::to_string(feature) + "-of-" + (i % 2 == 0 ? "even" : "odd");
            labels["cpu-feature.node.kubevirt.io/" + own] = "true";
            labels["host-model-required-features.node.kubevirt.io/" + own] = "true";
        }
        const auto name = "worker-" + std::to_string(1000 + i);
        items.push_back(
            json::object{{"apiVersion", "v1"},
                         {"kind", "Node"},
                         {"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
    }
    return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
}

constexpr bool has_address_sanitizer() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

/// Ten times what is needed. AddressSanitizer keeps 256 MiB of what was freed, and pads the rest.
constexpr long most_kib = (has_address_sanitizer() ? 900L : 400L) * 1024;

void expect_bounded(int nodes, const char* format) {
    const scout::test::TemporaryFolder folder;
    folder.write("nodes.json", json::serialize(fleet_of(nodes)));

    const auto matrix = test::scoutctl({"matrix", "--from", folder.path().string(), "-o", format});

    EXPECT_EQ(matrix.code, 0) << matrix.err;
    EXPECT_NE(matrix.out.find("worker-" + std::to_string(999 + nodes)), std::string::npos);
    EXPECT_LT(matrix.peak_kib, most_kib);
}

TEST(LargeDumpTest, AMatrixIsHeldByClassesOfNodes) {
    expect_bounded(600, "table");
}

TEST(LargeDumpTest, AMatrixIsWrittenWhileItIsMade) {
    expect_bounded(300, "json");
}

}  // namespace
}  // namespace scout::cli
