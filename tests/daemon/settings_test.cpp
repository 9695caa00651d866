// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::daemon {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Example {
    std::string name = "unset";
    std::filesystem::path folder = "/default";
    bool plain = false;
    std::chrono::milliseconds interval = 10s;
    std::string count = "3";
    std::vector<std::string> maps;
    LogConfig log;
};

class SettingsTest : public testing::Test {
protected:
    [[nodiscard]] SettingList list() {
        SettingList made{
            text_setting("node-name", "name", config.name),
            path_setting("host-root", "root", config.folder),
            bool_setting("plaintext", "no TLS", config.plain),
            duration_setting("probe-interval", "interval", config.interval, {1s, 24h}),
            choice_setting("count", "how many", config.count, {"3", "4", "5", "6", "7", "10"}),
            list_setting("cpu-map", "maps", config.maps),
        };
        add_log_settings(made, config.log);
        return made;
    }
    Faults read(std::string_view text) {
        return read_config_text(text, "agent.yaml", list(), origins);
    }

    Example config;
    Origins origins;
};

TEST_F(SettingsTest, ReadsEveryKindAndRemembersTheLine) {
    const auto faults = read(
        "# a comment\nnode-name: \"a\"\nhost-root: /host\nplaintext: true\nprobe-interval: 5m\n"
        "count: 7\ncpu-map:\n  - /a\n  - /b\nlog-level: debug\n");

    EXPECT_THAT(faults, IsEmpty());
    EXPECT_EQ(config.name, "a");
    EXPECT_EQ(config.folder, "/host");
    EXPECT_TRUE(config.plain);
    EXPECT_EQ(config.interval, 5min);
    EXPECT_EQ(config.count, "7");
    EXPECT_THAT(config.maps, ElementsAre("/a", "/b"));
    EXPECT_EQ(config.log.level, "debug");
    EXPECT_EQ(origins.at("count"), "agent.yaml:6");
}

TEST_F(SettingsTest, ListsEveryFaultWithItsLineAtOnce) {
    const auto faults = read(
        "node-nam: a\nplaintext: yes please\nprobe-interval: 90\ncount: 11\nlog-level: loud\n"
        "host-root:\ncount: 3\n");

    ASSERT_THAT(faults, SizeIs(7));
    EXPECT_EQ(faults[0].text,
              "agent.yaml:1: unknown key 'node-nam'; the nearest known key is 'node-name'");
    EXPECT_EQ(read("frobnicate: a\n").front().text, "agent.yaml:1: unknown key 'frobnicate'")
        << "nothing is near";
    EXPECT_EQ(faults[1].text,
              "agent.yaml:2: plaintext: expected true or false, found \"yes please\"");
    EXPECT_THAT(faults[2].text, HasSubstr("agent.yaml:3: probe-interval: expected a duration"));
    EXPECT_EQ(faults[3].text, "agent.yaml:4: count: expected 3, 4, 5, 6, 7 or 10, found 11");
    EXPECT_THAT(faults[4].text, HasSubstr("debug"));
    EXPECT_THAT(faults[5].text, HasSubstr("agent.yaml:6: host-root: expected a value"));
    EXPECT_THAT(faults[6].text, HasSubstr("agent.yaml:7: key 'count' is given twice"));
    EXPECT_EQ(config.count, "3");
}

TEST_F(SettingsTest, TellsWhatIsWrongWithTextThatIsNoMapping) {
    EXPECT_THAT(read("- a\n- b\n").at(0).text, HasSubstr("agent.yaml:1: expected lines"));
    EXPECT_THAT(read("a: [1\nb: 2\n").at(0).text, HasSubstr("not YAML"));
    EXPECT_THAT(read("count: 1\n---\ncount: 2\n").at(0).text, HasSubstr("one YAML document"));
    EXPECT_THAT(read("node-name: [a, b]\n").at(0).text, HasSubstr("expected one value"));
    EXPECT_THAT(read("? [a]\n: b\n").at(0).text, HasSubstr("expected a key"));
    EXPECT_THAT(read(""), IsEmpty());
    EXPECT_THAT(read("# nothing\n"), IsEmpty());
}

TEST_F(SettingsTest, SurvivesHostileText) {
    EXPECT_THAT(read(std::string(config_limit + 1, ' ')).at(0).text, HasSubstr("at most"));
    EXPECT_THAT(read(std::string(100'000, '[')).at(0).text, HasSubstr("not YAML"));
    EXPECT_THAT(read("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"), SizeIs(3));
    EXPECT_THAT(read(std::string("node-name: \xff\xfe\x00 x", 16)), SizeIs(testing::Le(1U)));
}

}  // namespace
}  // namespace scout::daemon
