// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documents/cpu_map_document.h"
#include "documents/cpu_map_files.h"
#include "tests/support/temporary_folder.h"

namespace scout::documents {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* index_text = R"(<cpus><arch name='x86'><include filename='x86_features.xml'/>
  <group name='some'><include filename='x86_models.xml'/></group></arch>
  <arch name='arm'><include filename='arm_models.xml'/></arch></cpus>)";

constexpr const char* models_text = R"(<cpus>
  <model name='Small'><decode host='on' guest='on'/><vendor name='Intel'/>
    <feature name='fpu'/><feature name='mpx' removed='yes'/><feature name='vmx-ept' added='yes'/></model>
  <model name='Large'><model name='Small'/><feature name='avx'/></model>
  </cpus>)";

TEST(CpuMapTest, ReadsModelsThatTheIndexNames) {
    const test::TemporaryFolder folder;
    folder.write("index.xml", index_text);
    folder.write("x86_features.xml", "<cpus><feature name='fpu'/></cpus>");
    folder.write("x86_models.xml", models_text);

    const auto map = load_cpu_map(folder.path()).value();

    EXPECT_EQ(map.name(), folder.path().string());
    ASSERT_NE(map.find("Large"), nullptr);
    EXPECT_THAT(map.find("Small")->features, ElementsAre("fpu"));
    EXPECT_THAT(map.find("Large")->features, ElementsAre("avx", "fpu"));
    EXPECT_EQ(map.find("Large")->vendor, "Intel");
    EXPECT_EQ(map.find("Absent"), nullptr);
}

TEST(CpuMapTest, ReadsAFolderWithoutAnIndexByItsFileNames) {
    const test::TemporaryFolder folder;
    folder.write("x86_models.xml", models_text);
    folder.write("arm_models.xml", "<cpus><model name='Arm'/></cpus>");

    const auto map = load_cpu_map(folder.path()).value();

    EXPECT_NE(map.find("Small"), nullptr);
    EXPECT_EQ(map.find("Arm"), nullptr);
}

TEST(CpuMapTest, RefusesAnIncludeThatLeavesTheFolder) {
    const test::TemporaryFolder folder;
    folder.write("index.xml",
                 "<cpus><arch name='x86'><include filename='../secret.xml'/></arch></cpus>");

    const auto map = load_cpu_map(folder.path());

    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, Errc::invalid);
    EXPECT_THAT(map.error().message, HasSubstr("../secret.xml"));
}

TEST(CpuMapTest, RefusesCyclesMissingParentsAndDoubleDefinitions) {
    const auto resolve = [](const char* xml) {
        RawModels models;
        const auto added = add_cpu_map_models(xml, "models.xml", models);
        return added && resolve_models(models);
    };

    EXPECT_FALSE(
        resolve("<cpus><model name='A'><model name='B'/></model>"
                "<model name='B'><model name='A'/></model></cpus>"));
    EXPECT_FALSE(resolve("<cpus><model name='A'><model name='Absent'/></model></cpus>"));
    EXPECT_FALSE(resolve("<cpus><model name='A'/><model name='A'/></cpus>"));
    EXPECT_FALSE(resolve("<cpu/>"));
    EXPECT_TRUE(resolve("<cpus><model name='A'/></cpus>"));
}

TEST(CpuMapTest, SaysWhatIsWrongAndInWhichFile) {
    const auto fault = [](const std::string& index, const std::string& models) {
        const test::TemporaryFolder folder;
        folder.write("index.xml", index);
        folder.write("x86_models.xml", models);
        return load_cpu_map(folder.path()).error().message;
    };
    std::string chain = "<cpus><model name='M30'/>";
    for (int i = 10; i < 30; ++i) {
        chain += "<model name='M" + std::to_string(i) + "'><model name='M" + std::to_string(i + 1) +
                 "'/></model>";
    }
    const std::string index =
        "<cpus><arch name='x86'><include filename='x86_models.xml'/></arch></cpus>";

    EXPECT_THAT(fault(index,
                      "<cpus><model name='A'><model name='B'/></model>"
                      "<model name='B'><model name='A'/></model></cpus>"),
                AllOf(HasSubstr("cycle: A, B, A"), HasSubstr("x86_models.xml")));
    EXPECT_THAT(
        fault(index, chain + "</cpus>"),
        AllOf(HasSubstr("16 generations"), HasSubstr("x86_models.xml"), Not(HasSubstr("cycle"))));
    EXPECT_THAT(fault(index, "<cpus><model name='A'><model name='Absent'/></model></cpus>"),
                AllOf(HasSubstr("'Absent'"), HasSubstr("x86_models.xml")));
    EXPECT_THAT(fault(index, "<cpus><model name='A'/><model name='A'/></cpus>"),
                AllOf(HasSubstr("'A' again"), HasSubstr("x86_models.xml")));
    EXPECT_THAT(fault("<cpus/>", "<cpus/>"), HasSubstr("index.xml"));
    EXPECT_THAT(fault(index, "<cpus>"), HasSubstr("x86_models.xml"));
}

TEST(CpuMapTest, TakesNoOtherMapWhereTheConfiguredOneIsNotThere) {
    const test::TemporaryFolder folder;
    const auto good = folder.write("good/x86_models.xml", models_text).parent_path();
    const auto absent = folder.path() / "absent";

    EXPECT_EQ(find_cpu_map(good, absent).value().value().name(), good.string());
    EXPECT_EQ(find_cpu_map(std::nullopt, good).value().value().name(), good.string());
    EXPECT_EQ(find_cpu_map(std::nullopt, absent).value(), std::nullopt);
    const auto none = find_cpu_map(absent, good);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::not_found);
    EXPECT_THAT(none.error().message, HasSubstr("absent"));
}

TEST(CpuMapTest, RefusesAnInstalledMapThatLacksAnInclude) {
    const test::TemporaryFolder folder;
    folder.write("index.xml",
                 "<cpus><arch name='x86'><include filename='x86_gone.xml'/></arch></cpus>");

    const auto map = find_cpu_map(std::nullopt, folder.path());

    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, Errc::invalid);
    EXPECT_THAT(map.error().message, HasSubstr("x86_gone.xml"));
}

}  // namespace
}  // namespace scout::documents
