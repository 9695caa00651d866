// SPDX-License-Identifier: Apache-2.0
#include "migration/label_check.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string feature{label::cpu_feature};
const std::string known{label::known_model};
const std::string usable{label::cpu_model};
const std::string host{label::host_model};
const std::string required{label::required_feature};
const std::string vendor{label::vendor};
const std::string machine{label::machine_type};
const std::string scheduling{label::tsc_scheduling};
const std::string frequency{label::tsc_frequency};
const std::string scalable{label::tsc_scalable};

/// What a labeller of today writes, and nothing to be said of it.
Labels healthy() {
    return {{feature + "avx", "true"},
            {feature + "vmx", "true"},
            {known + "Large", "true"},
            {known + "Small", "true"},
            {usable + "Small", "true"},
            {host + "Large", "true"},
            {required + "avx", "true"},
            {vendor + "Intel", "true"},
            {machine + "q35", "true"},
            {frequency, "2294787000"},
            {scalable, "false"},
            {scheduling + "2294785000", "true"},
            {std::string{label::hyperv} + "base", "true"},
            {"kubernetes.io/arch", "amd64"},
            {"kubevirt.io/schedulable", "true"}};
}

std::vector<LabelFinding> check_one(const Labels& labels, const LabelCheckOptions& options = {}) {
    return check_labels({{"n1", labels}}, options).at(0).findings;
}

/// "error inconsistent: key, key" of each.
std::vector<std::string> told(const std::vector<LabelFinding>& findings) {
    std::vector<std::string> out;
    for (const auto& each : findings) {
        std::string line{to_string(each.severity)};
        line += ' ';
        line += to_string(each.code);
        out.push_back(line + (each.keys.empty() ? "" : ": " + join(each.keys)));
        EXPECT_FALSE(each.text.empty());
    }
    return out;
}

struct Case {
    std::string name;
    std::function<void(Labels&)> change;
    std::vector<std::string> expected;
};

class LabelRuleTest : public testing::TestWithParam<Case> {};

TEST_P(LabelRuleTest, FaultIsFoundAndNothingElse) {
    auto labels = healthy();
    GetParam().change(labels);

    EXPECT_EQ(told(check_one(labels)), GetParam().expected);
}

const Case cases[] = {
    {"Healthy", [](Labels&) {}, {}},
    {"TwoHostModels",
     [](Labels& labels) { labels[host + "Small"] = "true"; },
     {"error inconsistent: " + host + "Large, " + host + "Small"}},
    {"TwoVendors",
     [](Labels& labels) { labels[vendor + "Old"] = "true"; },
     {"error inconsistent: " + vendor + "Intel, " + vendor + "Old"}},
    {"NoVendor",
     [](Labels& labels) { labels.erase(vendor + "Intel"); },
     {"error inconsistent: " + vendor}},
    {"RequiredFeaturesOfNoHostModel",
     [](Labels& labels) { labels.erase(host + "Large"); },
     {"error inconsistent: " + host + ", " + required}},
    {"NoHostModel",
     [](Labels& labels) {
         labels.erase(host + "Large");
         labels.erase(required + "avx");
     },
     {"warning missing-host-model: " + host}},
    {"UsableModelThatIsNotKnown",
     [](Labels& labels) { labels.erase(known + "Small"); },
     {"error inconsistent: " + known + "Small"}},
    {"HostModelThatIsNotKnown",
     [](Labels& labels) { labels.erase(known + "Large"); },
     {"warning inconsistent: " + known + "Large"}},
    {"RequiredFeatureThatTheNodeLacks",
     [](Labels& labels) { labels[required + "aes"] = "true"; },
     {"warning inconsistent: " + feature + "aes"}},
    {"ValueThatNoSelectorMatches",
     [](Labels& labels) { labels[feature + "sse"] = "false"; },
     {"error malformed: " + feature + "sse"}},
    {"KeysThatKubernetesRefuses",
     [](Labels& labels) {
         labels[feature] = "true";
         labels[feature + std::string(64, 'a')] = "true";
         labels[usable + "Ünicode"] = "true";
     },
     {"error malformed: " + feature + ", " + feature + std::string(64, 'a') + ", " + usable +
          "Ünicode",
      "error inconsistent: " + known + "Ünicode"}},
    {"LongestKey", [](Labels& labels) { labels[feature + std::string(63, 'a')] = "true"; }, {}},
    {"FrequencyWithoutScaling",
     [](Labels& labels) { labels.erase(scalable); },
     {"error inconsistent: " + frequency + ", " + scalable}},
    {"FrequencyThatIsNoNumber",
     [](Labels& labels) {
         labels[frequency] = "fast";
         labels.erase(scheduling + "2294785000");
     },
     {"error inconsistent: " + frequency + ", " + scalable}},
    {"ScalingThatIsNeither",
     [](Labels& labels) { labels[scalable] = "maybe"; },
     {"error inconsistent: " + frequency + ", " + scalable}},
    {"SchedulingFrequencyOfAnotherNode",
     [](Labels& labels) { labels[scheduling + "4008012000"] = "true"; },
     {"warning stale: " + scheduling + "4008012000"}},
    {"SchedulingFrequencyWithoutOwnOne",
     [](Labels& labels) {
         labels.erase(frequency);
         labels.erase(scalable);
     },
     {"warning stale: " + scheduling + "2294785000"}},
    {"NoMachineType",
     [](Labels& labels) { labels.erase(machine + "q35"); },
     {"warning missing-machine-type: " + machine}},
    {"NoArchitecture",
     [](Labels& labels) { labels.erase("kubernetes.io/arch"); },
     {"warning missing-arch: kubernetes.io/arch"}},
    {"ObsoleteHostModel",
     [](Labels& labels) { labels[std::string{label::obsolete}] = "true"; },
     {"warning obsolete: " + std::string{label::obsolete}}},
    {"VirtHandlerIsSilent",
     [](Labels& labels) { labels["kubevirt.io/schedulable"] = "false"; },
     {"warning unschedulable: kubevirt.io/schedulable"}},
    {"VirtHandlerNeverCame",
     [](Labels& labels) { labels.erase("kubevirt.io/schedulable"); },
     {"warning unschedulable: kubevirt.io/schedulable"}},
    {"NothingOfTheLabeller",
     [](Labels& labels) {
         labels = {{"kubernetes.io/arch", "amd64"}, {"kubevirt.io/schedulable", "true"}};
     },
     {"warning not-labelled"}},
    {"NothingOfKubeVirt",
     [](Labels& labels) { labels = {{"kubernetes.io/arch", "amd64"}}; },
     {"note not-labelled"}},
    {"ArmNodeHasNoCpuLabels",
     [](Labels& labels) {
         labels = {{machine + "virt", "true"},
                   {"kubernetes.io/arch", "arm64"},
                   {"kubevirt.io/schedulable", "true"}};
     },
     {}},
    {"ErrorsComeFirst",
     [](Labels& labels) {
         labels["kubevirt.io/schedulable"] = "false";
         labels.erase(machine + "q35");
         labels[host + "Small"] = "true";
     },
     {"error inconsistent: " + host + "Large, " + host + "Small",
      "warning missing-machine-type: " + machine,
      "warning unschedulable: kubevirt.io/schedulable"}},
};

INSTANTIATE_TEST_SUITE_P(Rules, LabelRuleTest, testing::ValuesIn(cases),
                         [](const auto& made) { return made.param.name; });

TEST(LabelCheckTest, TheStaleVendorIsTheOneThatTheHostModelIsNotOf) {
    auto labels = healthy();
    labels[vendor + "AMD"] = "true";
    const auto map = test::small_map();

    const auto with_map = check_one(labels, {.map = &map});
    const auto without = check_one(labels);

    ASSERT_THAT(with_map, SizeIs(1));
    EXPECT_THAT(with_map[0].text, HasSubstr("the stale one (Large is of Intel): kubectl label node "
                                            "n1 " +
                                            vendor + "AMD-"));
    ASSERT_THAT(without, SizeIs(1));
    EXPECT_THAT(without[0].text, Not(HasSubstr("the stale one")));
}

TEST(LabelCheckTest, BuiltInListIsThatOfAKubeVirtThatIsToldNothing) {
    auto labels = healthy();
    labels[known + "Opteron_G1"] = "true";
    const LabelOptions nothing;

    EXPECT_THAT(told(check_one(labels, {.kubevirt = &nothing})),
                ElementsAre("warning stale: " + known + "Opteron_G1"));
    EXPECT_THAT(check_one(labels), IsEmpty()) << "without a KubeVirt object nothing is said";
}

TEST(LabelCheckTest, ObsoleteLabelFollowsTheListOfTheKubeVirtObject) {
    const std::set<std::string, std::less<>> large{"Large"};
    const std::set<std::string, std::less<>> none;
    const LabelOptions lists_large{.obsolete_models = &large};
    const LabelOptions lists_none{.obsolete_models = &none};
    auto plain = healthy();
    plain.erase(known + "Large");
    auto marked = plain;
    marked[std::string{label::obsolete}] = "true";
    const auto unknown = "warning inconsistent: " + known + "Large";
    const auto stale = "warning stale: " + std::string{label::obsolete};
    const auto obsolete = "warning obsolete: " + std::string{label::obsolete};

    EXPECT_THAT(told(check_one(plain, {.kubevirt = &lists_large})), ElementsAre(unknown, stale));
    EXPECT_THAT(told(check_one(marked, {.kubevirt = &lists_large})),
                ElementsAre(unknown, obsolete));
    EXPECT_THAT(told(check_one(marked, {.kubevirt = &lists_none})),
                ElementsAre(unknown, stale, obsolete));
    EXPECT_THAT(told(check_one(plain, {.kubevirt = &lists_none})), ElementsAre(unknown));
}

TEST(LabelCheckTest, OlderLabellerIsTheOneThatLacksWhatOthersHave) {
    auto young = healthy();
    young[feature + "vmx-ept"] = "true";
    auto old = healthy();
    old.erase(machine + "q35");
    auto without_nesting = healthy();
    without_nesting.erase(feature + "vmx");
    const Labels arm{{machine + "virt", "true"},
                     {"kubernetes.io/arch", "arm64"},
                     {"kubevirt.io/schedulable", "true"}};

    const auto found =
        check_labels({{"young", young}, {"old", old}, {"without", without_nesting}, {"arm", arm}});

    EXPECT_EQ(found[0].node, "young");
    EXPECT_THAT(found[0].findings, IsEmpty());
    EXPECT_THAT(told(found[1].findings),
                ElementsAre("warning missing-machine-type: " + machine,
                            "warning old-labeller: " + machine + ", " + feature + "vmx-"));
    EXPECT_THAT(found[1].findings[1].text,
                HasSubstr("no labels " + machine + ", " + feature + "vmx-…"));
    EXPECT_THAT(found[2].findings, IsEmpty());
    EXPECT_THAT(found[3].findings, IsEmpty());
}

}  // namespace
}  // namespace scout::migration
