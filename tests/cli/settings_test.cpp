// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

using namespace std::chrono_literals;

TEST(SettingsTest, ReadsEveryKey) {
    const auto settings = parse_settings(
        "aggregator-address: fleet.example:9286\ncpu-map: /maps\ntls-ca: ca\ntls-cert: cert\n"
        "tls-key: key\ntls-server-name: fleet\nplaintext: false\ndeadline: 2m\noutput: wide\n");

    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(*settings, (Settings{.aggregator = "fleet.example:9286",
                                   .cpu_map = "/maps",
                                   .tls_ca = "ca",
                                   .tls_cert = "cert",
                                   .tls_key = "key",
                                   .server_name = "fleet",
                                   .plaintext = false,
                                   .deadline = "2m",
                                   .output = "wide"}));
}

TEST(SettingsTest, TakesAnEmptyFile) {
    EXPECT_EQ(parse_settings("").value(), Settings{});
    EXPECT_EQ(parse_settings("# nothing\n").value(), Settings{});
}

TEST(SettingsTest, ListsAllFaults) {
    const auto settings = parse_settings(
        "agregator: x\ncpu-map: [a]\nplaintext: maybe\ndeadline: soon\noutput: xml\n"
        "tls-ca: a\ntls-ca: b\n");

    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, Errc::invalid);
    for (const std::string fault :
         {"line 1: unknown key 'agregator'", "line 2: cpu-map", "line 3: plaintext", "'soon'",
          "'xml'", "'tls-ca' is there twice"}) {
        EXPECT_NE(settings.error().message.find(fault), std::string::npos)
            << fault << " in " << settings.error().message;
    }
}

TEST(SettingsTest, RefusesWhatIsNoMapOfKeys) {
    EXPECT_FALSE(parse_settings("- a\n- b\n"));
    EXPECT_FALSE(parse_settings("a: [b\n"));
    EXPECT_FALSE(parse_settings(std::string(10'000, '[')));
}

TEST(SettingsTest, AFileThatWasNamedMustBeThere) {
    const test::TemporaryFolder folder;
    const auto file = folder.write("config.yaml", "cpu-map: /maps\n");

    EXPECT_EQ(read_settings(file.string()).value().cpu_map, "/maps");

    const auto absent = read_settings((folder.path() / "absent.yaml").string());
    ASSERT_FALSE(absent);
    EXPECT_NE(absent.error().message.find("absent.yaml"), std::string::npos);
}

TEST(SettingsTest, AFileThatWasNotNamedNeedNotBeThere) {
    for (const auto* folder : {"/nonexistent", "/dev/null"}) {
        ASSERT_EQ(::setenv("XDG_CONFIG_HOME", folder, 1), 0);
        EXPECT_EQ(read_settings(std::nullopt).value(), Settings{}) << folder;
    }
    ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
}

TEST(SettingsTest, FlagsWinOverTheFile) {
    const auto merged = merge({.cpu_map = "/flag"},
                              {.aggregator = "unix:/a", .cpu_map = "/file", .plaintext = true});

    EXPECT_EQ(merged.cpu_map, "/flag");
    EXPECT_EQ(merged.aggregator, "unix:/a");
    EXPECT_EQ(merged.plaintext, true);
}

TEST(SettingsTest, SaysInWhichLineTheTextIsNoYaml) {
    EXPECT_EQ(parse_settings("cpu-map: /maps\noutput: [json\n").error().message.substr(0, 17),
              "line 3: not YAML:");
}

TEST(SettingsTest, ReadsDurationsWithTheirUnit) {
    EXPECT_EQ(parse_deadline("500ms").value(), 500ms);
    EXPECT_EQ(parse_deadline("10s").value(), 10s);
    EXPECT_EQ(parse_deadline("60m").value(), 60min);
    for (const auto* text :
         {"", "10", "s", "0s", "-1s", "61m", "2h", "1.5s", " 1s", "1s ", "99999999999999999999s"}) {
        EXPECT_FALSE(parse_deadline(text)) << text;
    }
}

}  // namespace
}  // namespace scout::cli
