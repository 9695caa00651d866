// SPDX-License-Identifier: Apache-2.0
// The small parts of reading: lists, watch lines, versions, times, shared texts.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/labels.h"
#include "kube/list_document.h"
#include "kube/resource_version.h"
#include "kube/shared_text.h"
#include "kube/timestamps.h"
#include "kube/watch_event.h"
#include "tests/support/scripted_transport.h"

namespace scout::test {
namespace {

using kube::VersionOrder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(ResourceVersionTest, ComparesNumbersAsNumbersAndOthersForEquality) {
    EXPECT_EQ(kube::compare_versions("9", "10"), VersionOrder::older);
    EXPECT_EQ(kube::compare_versions("10", "9"), VersionOrder::newer);
    EXPECT_EQ(kube::compare_versions("10", "10"), VersionOrder::equal);
    EXPECT_EQ(kube::compare_versions("99999999999999999999998", "99999999999999999999999"),
              VersionOrder::older);
    EXPECT_EQ(kube::compare_versions("abc", "abc"), VersionOrder::equal);
    EXPECT_EQ(kube::compare_versions("abc", "abd"), VersionOrder::unknown);
    EXPECT_EQ(kube::compare_versions("010", "9"), VersionOrder::unknown);
    EXPECT_EQ(kube::compare_versions("1", ""), VersionOrder::unknown);
    EXPECT_EQ(kube::compare_versions("", ""), VersionOrder::unknown);
    EXPECT_EQ(kube::compare_versions("-1", "1"), VersionOrder::unknown);
    EXPECT_EQ(kube::compare_versions("0", "1"), VersionOrder::older);
}

TEST(TimestampTest, WritesMicrosecondsAndReadsEveryPrecision) {
    EXPECT_EQ(kube::micro_time(WallTime{1795815586123ms}), "2026-11-27T21:39:46.123000Z");
    EXPECT_EQ(kube::parse_time("2026-11-27T21:39:46Z"), WallTime{1795815586s});
    EXPECT_EQ(kube::parse_time("2026-11-27T21:39:46.123456789Z"), WallTime{1795815586123ms});
    EXPECT_EQ(kube::parse_time("2026-11-27T21:39:46.5Z"), WallTime{1795815586500ms});
    EXPECT_EQ(kube::parse_time("2026-11-27T23:09:46+01:30"), WallTime{1795815586s});
    EXPECT_EQ(kube::parse_time("2024-02-29T00:00:00Z"), WallTime{1709164800s});
    for (const char* wrong :
         {"", "2026-11-27", "2026-11-27T21:39:46", "2026-13-27T21:39:46Z", "2026-02-30T21:39:46Z",
          "2026-11-27T24:39:46Z", "2026-11-27T21:39:46.Z", "2026-11-27T21:39:46Zx",
          "0001-01-01T00:00:00Z", "2026-11-27T21:39:46+1:30", "yyyy-11-27T21:39:46Z"}) {
        EXPECT_FALSE(kube::parse_time(wrong)) << wrong;
    }
}

TEST(SharedTextTest, EqualTextsShareTheirBytesAndUnusedOnesAreForgotten) {
    kube::TextPool pool;
    const auto a = pool.get("kubernetes.io/arch");
    const auto b = pool.get("kubernetes.io/arch");
    EXPECT_EQ(a.view().data(), b.view().data());
    EXPECT_EQ(a, kube::SharedText{"kubernetes.io/arch"});
    EXPECT_TRUE(pool.get("").empty());
    EXPECT_EQ(pool.get(std::string(5000, 'x')).view().size(), 5000U);

    for (int text = 0; text < 100'000; ++text) {
        static_cast<void>(pool.get(std::to_string(text)));
    }

    EXPECT_LE(pool.size(), 1025U);
    EXPECT_EQ(pool.get("kubernetes.io/arch").view().data(), a.view().data());
}

TEST(LabelsTest, AreSortedAndTheLastOfEqualKeysHolds) {
    const kube::Labels labels{{"b", "1"}, {"a", "2"}, {"b", "3"}};
    EXPECT_EQ(labels.size(), 2U);
    EXPECT_EQ(labels.find("b"), "3");
    EXPECT_EQ(labels.find("a"), "2");
    EXPECT_FALSE(labels.find("c"));
    EXPECT_EQ(labels, (kube::Labels{{"a", "2"}, {"b", "3"}}));
}

std::vector<std::string> items_of(std::string text) {
    const auto list = kube::split_list(kube::PaddedText::of(text));
    if (!list) {
        return {"error: " + list.error().message};
    }
    std::vector<std::string> items{list->version + "/" + list->continue_token};
    for (const auto& item : list->items) {
        items.emplace_back(item.view());
    }
    return items;
}

TEST(ListDocumentTest, CutsAListIntoItsObjects) {
    EXPECT_THAT(items_of(R"({"kind":"L","items":[{"a":"}]\"{"},{"b":[1,{}]}],"metadata":
                             {"continue":"c","resourceVersion":"7","remainingItemCount":3}})"),
                ElementsAre("7/c", R"({"a":"}]\"{"})", R"({"b":[1,{}]})"));
    EXPECT_THAT(items_of(R"( { "metadata" : {"resourceVersion":"7"} , "items" : [ ] } )"),
                ElementsAre("7/"));
    EXPECT_THAT(items_of(R"({"metadata":{"resourceVersion":"7"},"items":null})"),
                ElementsAre("7/"));
}

TEST(ListDocumentTest, RefusesWhatIsNoListOrCutOff) {
    const std::string whole = list_json("7", {R"({"a":"b"})", R"({"c":{}})"}, "t");
    ASSERT_EQ(items_of(whole).size(), 3U);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_THAT(items_of(whole.substr(0, length)), ElementsAre(HasSubstr("error: "))) << length;
    }
    for (const char* wrong : {R"({"metadata":{"resourceVersion":"7"}})", "[]", "null",
                              R"({"items":{}})", R"({"items":[{}]}x)", R"({"items":[{} {}]})",
                              R"({"items":[,]})", R"({"metadata":7,"items":[]})"}) {
        EXPECT_THAT(items_of(wrong), ElementsAre(HasSubstr("error: "))) << wrong;
    }
}

TEST(WatchEventTest, ReadsTypeAndObjectInAnyOrder) {
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    std::string line =
        R"({"object":{"metadata":{"uid":"u","resourceVersion":"5","name":"n","labels":{"name":"no"}}},)"
        R"("type":"MODIFIED"})";

    auto event = kube::parse_watch_line(reader, kube::PaddedText::of(line));

    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, kube::WatchKind::modified);
    const auto identity = kube::read_identity(event->object);
    ASSERT_TRUE(identity) << identity.error().message;
    EXPECT_EQ(identity->name, "n");
    EXPECT_EQ(identity->space, "");
    EXPECT_EQ(identity->version, "5");
}

TEST(WatchEventTest, RefusesWhatIsNoEvent) {
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    for (std::string line : {"", "{}", "[]", "x", R"({"type":"NEWS","object":{}})",
                             R"({"type":"ADDED"})", R"({"type":"ADDED","object":[]})",
                             R"({"type":7,"object":{}})", R"({"type":"ADDED","object":{)"}) {
        EXPECT_FALSE(kube::parse_watch_line(reader, kube::PaddedText::of(line))) << line;
    }
    for (std::string line : {R"({"type":"ADDED","object":{"metadata":{"name":"n"}}})",
                             R"({"type":"ADDED","object":{"metadata":{"name":"n","uid":"\u0041",
                                 "resourceVersion":"1"}}})",
                             R"({"type":"ADDED","object":{}})"}) {
        auto event = kube::parse_watch_line(reader, kube::PaddedText::of(line));
        ASSERT_TRUE(event) << line;
        EXPECT_FALSE(kube::read_identity(event->object)) << line;
    }
}

TEST(WatchEventTest, TellsAVersionThatIsTooLargeFromAnotherTimeout) {
    EXPECT_TRUE(
        kube::says_version_too_large(status_json(504, "Timeout", "ResourceVersionTooLarge")));
    EXPECT_FALSE(kube::says_version_too_large(status_json(504, "Timeout")));
    EXPECT_FALSE(kube::says_version_too_large("upstream timed out"));
}

}  // namespace
}  // namespace scout::test
