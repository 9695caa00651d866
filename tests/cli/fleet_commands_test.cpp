// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/app.h"
#include "tests/cli/documented_fields.h"
#include "tests/cli/fake_fleet.h"
#include "tests/support/temporary_folder.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using migration::Verdict;
using testing::HasSubstr;

const char* const guest_file = R"(<domain type='kvm'><name>web-1</name>
<uuid>0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d</uuid><memory unit='KiB'>1024</memory>
<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
<cpu mode='custom' match='exact'><model>Alpha</model></cpu></domain>)";

/// The whole program in this process, with the aggregator faked.
class FleetCommandsTest : public testing::Test {
protected:
    int run_with(std::vector<std::string> words) {
        out.clear();
        err.clear();
        words.insert(words.begin(), {program, "--config", config});
        std::vector<const char*> argv;
        for (const auto& word : words) {
            argv.push_back(word.c_str());
        }
        return run(static_cast<int>(argv.size()), argv.data(),
                   {.colour = false,
                    .progress = false,
                    .open_fleet = [this](const auto& settings,
                                         const auto& /*access*/) { return open(settings); },
                    .write =
                        [this](std::string_view text) {
                            out += text;
                            return !full;
                        },
                    .tell = [this](std::string_view line) { err += std::string(line) + "\n"; }});
    }

    Result<std::unique_ptr<Fleet>> open(const Settings& settings) {
        used = settings;
        return std::make_unique<test::BorrowedFleet>(fleet);
    }

    json::object answer() const { return json::parse(out).as_object(); }

    static migration::NodeAnswer node(const char* name, Verdict gate, Verdict truth) {
        migration::NodeAnswer answer{.node = name, .comparison = {}};
        answer.comparison.gate = gate;
        answer.comparison.truth = truth;
        answer.comparison.verdict = migration::combine(gate, truth);
        return answer;
    }

    scout::test::TemporaryFolder folder;
    std::string program = "scoutctl";
    std::string config = folder.write("config.yaml", "").string();
    test::FakeFleet fleet;
    Settings used;
    std::string out;
    std::string err;
    bool full = false;
};

TEST_F(FleetCommandsTest, WhereCarriesBothLayersAndTheGap) {
    auto gap = node("n2", Verdict::can, Verdict::cannot);
    gap.comparison.reasons = {{.code = migration::ReasonCode::feature,
                               .layer = migration::Layer::truth,
                               .text = "lacks avx",
                               .keys = {"avx"}}};
    gap.comparison.map = "/maps";
    gap.comparison.assumed = true;
    fleet.placement = {.subject = "vm-7",
                       .source = "n1",
                       .nodes = {gap, node("n3", Verdict::can, Verdict::can)},
                       .notes = {"devices are not judged"}};

    const int code = run_with({"where", "vm-7", "-o", "json"});

    EXPECT_EQ(code, exit_code::can);
    EXPECT_EQ(json::parse(out), json::parse(R"({"schema":1,"subject":"vm-7","source":"n1","nodes":[
        {"node":"n2","verdict":"cannot","stock":"can","truth":"cannot","gap":true,
         "reasons":[{"code":"feature","layer":"truth","text":"lacks avx","keys":["avx"]}],
         "map":"/maps","assumed":true},
        {"node":"n3","verdict":"can","stock":"can","truth":"can","gap":false,"reasons":[],
         "map":null,"assumed":false}],
        "summary":")" + summary(fleet.placement) +
                                            R"(","notes":["devices are not judged"]})"));
    ASSERT_EQ(run_with({"where", "vm-7"}), exit_code::can);
    EXPECT_NE(out.find("Note:         devices are not judged\n"), std::string::npos) << out;
    EXPECT_NE(out.find("CPU map:      /maps\n"), std::string::npos) << out;
    EXPECT_NE(out.find("Assumed:      n2: known by a bare <cpu>"), std::string::npos) << out;
    ASSERT_EQ(run_with({"why-not", "vm-7", "n2"}), exit_code::can);
    EXPECT_NE(out.find("Assumed:      known by a bare <cpu>"), std::string::npos) << out;
    EXPECT_NE(out.find("Note:         devices are not judged\n"), std::string::npos) << out;
}

TEST_F(FleetCommandsTest, WhereAnswersWithItsExitCode) {
    const auto code_for = [this](std::vector<migration::NodeAnswer> nodes) {
        fleet.placement.nodes = std::move(nodes);
        return run_with({"where", "vm-7"});
    };
    const auto can = node("a", Verdict::can, Verdict::can);
    const auto cannot = node("b", Verdict::can, Verdict::cannot);
    const auto unknown = node("c", Verdict::can, Verdict::unknown);

    EXPECT_EQ(code_for({cannot, unknown, can}), exit_code::can);
    EXPECT_EQ(code_for({cannot, cannot}), exit_code::cannot);
    EXPECT_EQ(code_for({}), exit_code::unknown) << "nobody was asked";
    EXPECT_EQ(code_for({unknown}), exit_code::unknown);
    EXPECT_EQ(code_for({cannot, unknown}), exit_code::unknown);
}

TEST_F(FleetCommandsTest, SubjectsReachTheAggregatorAsTheyAreMeant) {
    const auto file = folder.write("guest.xml", guest_file).string();

    run_with({"where", "guest/vm-7@n1"});
    EXPECT_EQ(fleet.asked_subject.subject.name, "vm-7");
    EXPECT_EQ(fleet.asked_subject.subject.node, "n1");
    run_with({"where", "host-model@n1"});
    EXPECT_EQ(fleet.asked_subject.subject.kind, SubjectKind::host_model);
    run_with({"why-not", file, "n9"});
    ASSERT_TRUE(fleet.asked_subject.described);
    EXPECT_EQ(fleet.asked_subject.described->model, "Alpha");
    EXPECT_EQ(fleet.asked_subject.text, file);
    EXPECT_EQ(fleet.asked, "n9");
}

TEST_F(FleetCommandsTest, BadSubjectsNeverReachTheAggregator) {
    fleet.asked = "nobody";
    for (const std::string subject : {"a@b", "", "x/y.xml", "file:/no/such/file"}) {
        EXPECT_EQ(run_with({"where", subject}), exit_code::error) << subject;
        EXPECT_NE(err.find("scoutctl: "), std::string::npos) << subject;
    }
    EXPECT_EQ(run_with({"why-not", "vm-7", "n 1"}), exit_code::error);
    EXPECT_EQ(run_with({"where", "vm-7", "--on", config}), exit_code::error);
    EXPECT_EQ(fleet.asked, "nobody");
    EXPECT_EQ(out, "");
}

TEST_F(FleetCommandsTest, NodesShowsAgeAndHidesNothing) {
    fleet.nodes_answer.map = "/maps";
    fleet.nodes_answer.nodes = {{.name = "n1",
                                 .freshness = "stale",
                                 .age_ms = 125'000,
                                 .arch = "x86_64",
                                 .virt_type = "kvm",
                                 .vendor = "AMD",
                                 .host_model = "EPYC",
                                 .digest = "abc",
                                 .source = "embedded",
                                 .guests = 3,
                                 .comparable = false,
                                 .reason = "evil \x1b[2J",
                                 .level = 50,
                                 .destinations = 1,
                                 .notices = {"kernel changed"}}};

    ASSERT_EQ(run_with({"nodes"}), exit_code::can);
    EXPECT_NE(out.find("2 min"), std::string::npos);
    EXPECT_NE(out.find("evil \\x1b[2J"), std::string::npos);
    EXPECT_EQ(out.find('\x1b'), std::string::npos);

    ASSERT_EQ(run_with({"-o", "json", "nodes"}), exit_code::can);
    EXPECT_EQ(answer(), json::parse(R"({"schema":1,"map":"/maps","nodes":[{"node":"n1",
        "freshness":"stale","ageMs":125000,"arch":"x86_64","domain":"kvm","vendor":"AMD",
        "hostModel":"EPYC","digest":"abc","source":"embedded","guests":3,"comparable":false,
        "reason":"evil \u001b[2J","level":50,"destinations":1,"notices":["kernel changed"],
        "schedulable":null,"notCounted":null}]})"));
}

TEST_F(FleetCommandsTest, WatchWritesOneLineAnEvent) {
    const GuestLine guest{.node = "n1",
                          .uuid = "u",
                          .name = "bad\xff",
                          .state = "running",
                          .since_unix_ms = 1'000,
                          .found_by = "resync",
                          .memory_kib = 1,
                          .cpu = {}};
    fleet.events = {{.event = "added", .guest = guest}, {.event = "removed", .guest = guest}};

    const int code = run_with({"guests", "--watch", "--node", "n1", "-o", "json"});

    EXPECT_EQ(code, exit_code::error);  // the stream never ends by itself
    EXPECT_EQ(fleet.asked, "n1");
    const auto first = out.substr(0, out.find('\n'));
    EXPECT_EQ(json::parse(first), json::parse(R"({"schema":1,"event":"added","uuid":"u",
        "name":"bad\ufffd","state":"running","since":"1970-01-01T00:00:01Z","foundBy":"resync",
        "node":"n1"})"));
    EXPECT_NE(out.find("\n{\"schema\":1,\"event\":\"removed\""), std::string::npos);
}

TEST_F(FleetCommandsTest, GuestsNamesNodesThatAreNotKnown) {
    fleet.guests_answer.guests = {{.node = "n1",
                                   .uuid = "u",
                                   .name = "vm",
                                   .state = "paused",
                                   .since_unix_ms = 0,
                                   .found_by = "event",
                                   .memory_kib = 2048,
                                   .cpu = {.model = "EPYC"},
                                   .cpu_error = "too many features"}};
    fleet.guests_answer.errors = {"n2: libvirt is away"};

    ASSERT_EQ(run_with({"guests", "-o", "json"}), exit_code::can);
    EXPECT_EQ(answer(), json::parse(R"({"schema":1,"guests":[{"uuid":"u","name":"vm",
        "state":"paused","since":null,"foundBy":"event","node":"n1","memoryKib":2048,
        "cpu":{"mode":"custom","arch":null,"domain":null,"vendor":null,"model":"EPYC",
        "require":[],"disable":[],"machine":null,"tscHz":null,"vcpus":null,"ties":null},"cpuError":"too many features"}],
        "errors":["n2: libvirt is away"]})"));
    ASSERT_EQ(run_with({"guests"}), exit_code::can);
    EXPECT_NE(out.find("n2: libvirt is away"), std::string::npos);
}

TEST_F(FleetCommandsTest, NodeCarriesProfileFactsLabelsAndGuests) {
    fleet.node_answer.line.name = "n1";
    fleet.node_answer.labels = {{"a/b", "true"}};
    fleet.node_answer.facts.tsc_hz = 5;
    fleet.node_answer.profile = ProfileAnswer{};
    fleet.node_answer.profile->supported.features = {"avx"};

    ASSERT_EQ(run_with({"node", "n1", "-o", "json"}), exit_code::can);
    const auto object = answer();
    EXPECT_EQ(object.at("node"), "n1");
    EXPECT_EQ(object.at("labels"), json::parse(R"({"a/b":"true"})"));
    EXPECT_EQ(object.at("facts").at("tscHz"), 5);
    EXPECT_EQ(object.at("profile").at("supported"), json::parse(R"(["avx"])"));
    EXPECT_EQ(object.at("guestList"), json::array());
    EXPECT_EQ(run_with({"node", "n1", "-o", "wide"}), exit_code::can);
    EXPECT_NE(out.find("a/b=true"), std::string::npos);
}

TEST_F(FleetCommandsTest, BaselineTakesNodesAndRefusesPathsThatAreNot) {
    EXPECT_EQ(run_with({"baseline", "n1", "n2"}), exit_code::can);
    EXPECT_EQ(fleet.asked_nodes, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(run_with({"baseline"}), exit_code::can);
    EXPECT_TRUE(fleet.asked_nodes.empty());
    EXPECT_EQ(run_with({"baseline", "./n1"}), exit_code::error);
    EXPECT_NE(err.find("./n1: no such file"), std::string::npos);
    EXPECT_EQ(run_with({"baseline", config, "n1"}), exit_code::error);
    EXPECT_NE(err.find("n1: no such file"), std::string::npos);
}

TEST_F(FleetCommandsTest, BaselineShowsWhoseLossesAreNotKnown) {
    fleet.baseline_answer = {.model = "Alpha",
                             .vendor = "Intel",
                             .reason = "usable on every host",
                             .common = {"Alpha"},
                             .losses = {{"n1", {.features = {{"avx"}}, .why = {}}},
                                        {"n2", {.features = {}, .why = "model Beta is not known"}}},
                             .custom_features = {},
                             .map = {},
                             .assumed = false};

    ASSERT_EQ(run_with({"baseline", "-o", "json"}), exit_code::can);
    EXPECT_EQ(json::parse(out), json::parse(R"({"schema":1,"model":"Alpha","vendor":"Intel",
        "reason":"usable on every host","common":["Alpha"],"losses":{"n1":["avx"],"n2":null},
        "lossesNotKnown":{"n2":"model Beta is not known"},"custom":null,"map":null,
        "assumed":false})"));
    ASSERT_EQ(run_with({"baseline"}), exit_code::can);
    EXPECT_NE(out.find("n1    1        avx\nn2    unknown  model Beta is not known\n"),
              std::string::npos)
        << out;
    EXPECT_NE(out.find("Custom:       not known"), std::string::npos) << out;
}

TEST_F(FleetCommandsTest, UpgradeImpactTakesANodeOrTwoDocuments) {
    fleet.impact = {.model_before = "A",
                    .model_after = "B",
                    .named_usable_before = migration::Usable::yes,
                    .named_usable_after = {},
                    .comparable = true,
                    .missing_after = {"avx"},
                    .missing_before = {},
                    .advice = "restart",
                    .map = "/maps",
                    .assumed = true};

    ASSERT_EQ(run_with({"upgrade-impact", "n1", "-o", "json"}), exit_code::can);
    EXPECT_EQ(json::parse(out), json::parse(R"({"schema":1,
        "hostModel":{"before":"A","after":"B","changed":true},
        "namedModelUsable":{"before":"yes","after":"absent"},"comparable":true,
        "missingAfter":["avx"],"missingBefore":[],"machinesMissingAfter":null,
        "machinesMissingBefore":null,"notes":[],"advice":"restart","map":"/maps",
        "assumed":true})"));
    ASSERT_EQ(run_with({"upgrade-impact", "n1"}), exit_code::can);
    EXPECT_NE(out.find("CPU map:      /maps\nAssumed:"), std::string::npos) << out;
    EXPECT_EQ(run_with({"upgrade-impact"}), exit_code::error);
    EXPECT_EQ(run_with({"upgrade-impact", "--before", config}), exit_code::error);
    EXPECT_EQ(run_with({"upgrade-impact", "n1", "--before", config, "--after", config}),
              exit_code::error);
}

TEST_F(FleetCommandsTest, MatrixSpreadsItsClassesOverTheNodes) {
    fleet.matrix_answer = {
        .rows = {{.node = "n1", .level = 50, .destinations = 1, .node_class = 7},
                 {.node = "n2", .level = 50, .destinations = 1, .node_class = 7},
                 {.node = "n3", .level = 0, .destinations = 0, .node_class = 9},
                 {.node = "n4", .level = 0, .destinations = 0, .node_class = {}}},
        .classes = {{.number = 7, .cells = "y!"}, {.number = 9, .cells = "n?"}},
        .map = {},
        .left_out = {}};

    ASSERT_EQ(run_with({"matrix", "-o", "json"}), exit_code::can);
    EXPECT_EQ(json::parse(out), json::parse(R"({"schema":1,"map":null,"classes":2,"rows":[
        {"node":"n1","level":50,"destinations":1,"class":7,"cells":".y!?"},
        {"node":"n2","level":50,"destinations":1,"class":7,"cells":"y.!?"},
        {"node":"n3","level":0,"destinations":0,"class":9,"cells":"nn.?"},
        {"node":"n4","level":0,"destinations":0,"class":null,"cells":"???."}],
        "classRows":[{"class":7,"nodes":2,"cells":"y!"},{"class":9,"nodes":1,"cells":"n?"}],
        "leftOut":[]})"));
    ASSERT_EQ(run_with({"matrix"}), exit_code::can);
    EXPECT_NE(out.find("1    n1    50     1      . y ! ?\n"), std::string::npos) << out;
}

TEST_F(FleetCommandsTest, AMatrixTooLargeForCellsIsShownClassByClass) {
    for (int number = 0; number <= 10'000; ++number) {
        fleet.matrix_answer.rows.push_back({.node = "n" + std::to_string(number),
                                            .level = 1,
                                            .destinations = 2,
                                            .node_class = number < 3 ? 0U : 1U});
    }
    fleet.matrix_answer.rows.push_back({.node = "tcg"});
    fleet.matrix_answer.classes = {{.number = 0, .cells = "yn"}, {.number = 1, .cells = "!y"}};

    for (const auto* format : {"table", "wide"}) {
        ASSERT_EQ(run_with({"matrix", "-o", format}), exit_code::can);
        EXPECT_NE(out.find("9998   1      2      y !  n3, n4, n5"), std::string::npos)
            << out.substr(0, 500);
        EXPECT_NE(out.find("\n3      1      2      n y  n0, n1, n2\n"), std::string::npos);
        EXPECT_NE(out.find("1 cannot be compared with any other: tcg\n"), std::string::npos);
        EXPECT_NE(out.find("10002 nodes in 2 classes\n"), std::string::npos);
    }
    ASSERT_EQ(run_with({"matrix", "-o", "json"}), exit_code::can);
    EXPECT_TRUE(answer().at("rows").at(0).at("cells").is_null());
    EXPECT_EQ(answer().at("classRows").at(1).at("nodes"), 9998);
}

TEST_F(FleetCommandsTest, NamesThatNoNodeHasAreRefusedHere) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"node", "n 1"},
                                                  {"guests", "--node", "a/b"},
                                                  {"guests", "--watch", "--node", "-x"},
                                                  {"upgrade-impact", "n\n1"},
                                                  {"why-not", "vm-7", "n 1"}}) {
        fleet.asked = "nobody";
        EXPECT_EQ(run_with(words), exit_code::error);
        EXPECT_EQ(fleet.asked, "nobody");
        EXPECT_NE(err.find("expected a name of 1 to 253 letters"), std::string::npos) << err;
    }
}

TEST_F(FleetCommandsTest, FilesThatAreNotThereAreNotTakenForNodes) {
    const auto file = folder.write("guest.xml", guest_file).string();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"baseline", "absent.xml"},
          {"where", "absent.xml"},
          {"why-not", file, "absent.xml"}}) {
        EXPECT_EQ(run_with(words), exit_code::error);
        EXPECT_NE(err.find("absent.xml: no such file"), std::string::npos) << err;
    }
    EXPECT_EQ(run_with({"why-not", "vm-7", file}), exit_code::error);
    EXPECT_NE(err.find("expected a document as the subject"), std::string::npos) << err;
}

TEST_F(FleetCommandsTest, FieldsAreWhatTheContractSays) {
    fleet.nodes_answer.nodes = {{.name = "n1"}};
    fleet.guests_answer.guests = {{.name = "vm"}};
    fleet.events = {{.event = "added", .guest = {.name = "vm"}}};
    fleet.node_answer.labels = {{"a/b", "true"}};
    migration::PressureReport report;
    report.lines.resize(1);
    report.order = {{.first = {{.vmi = "shop/a", .pod_uid = "u", .usage = {}, .vm_grace = {}}}}};
    report.graces = migration::KubeletGraces{};
    fleet.pressure_answer.nodes = {
        {.name = "n1",
         .told = {{.report = std::make_shared<const migration::PressureReport>(report),
                   .freshness = "fresh"}},
         .conditions = {{.type = "MemoryPressure", .status = "True"}},
         .taints = {}}};
    const auto fields_of = [this](std::vector<std::string> words) {
        words.insert(words.end(), {"-o", "json"});
        run_with(std::move(words));
        std::set<std::string> fields;
        test::add_fields(json::parse(out), fields);
        return fields;
    };
    EXPECT_EQ(fields_of({"nodes"}), test::documented_fields("nodes"));
    EXPECT_EQ(fields_of({"guests"}), test::documented_fields("guests"));
    EXPECT_EQ(fields_of({"pressure"}), test::documented_fields("pressure"));
    EXPECT_EQ(fields_of({"guests", "--watch"}), test::documented_fields("guests --watch"));
    auto expected = test::documented_fields("node NAME");
    expected.merge(test::documented_fields("nodes"));
    expected.erase("nodes");
    expected.erase("map");
    EXPECT_EQ(fields_of({"node", "n1"}), expected);
}

TEST_F(FleetCommandsTest, FailuresSayWhyAndExitWithTwo) {
    fleet.down = Error{Errc::unavailable, "nobody there\x07"};

    EXPECT_EQ(run_with({"nodes", "-o", "json"}), exit_code::error);
    EXPECT_EQ(err, "scoutctl: nobody there\\x07\n");
    EXPECT_EQ(out, "");
}

TEST_F(FleetCommandsTest, InAClusterVmsHaveNamespaces) {
    fleet.placement = {.subject = "shop/a",
                       .source = "n1",
                       .nodes = {node("n2", Verdict::can, Verdict::can)},
                       .notes = {}};
    for (const auto* command : {"where", "why-not"}) {
        std::vector<std::string> words{command, "shop/a", "--aggregator", "kube:"};
        if (std::string{command} == "why-not") {
            words.insert(words.begin() + 2, "n2");
        }
        EXPECT_EQ(run_with(words), exit_code::can) << err;
        EXPECT_EQ(fleet.asked_subject.subject.kind, SubjectKind::guest);
        EXPECT_EQ(fleet.asked_subject.subject.name, "shop/a");
    }

    EXPECT_EQ(run_with({"where", "shop/a", "--aggregator", "fleet.example:1"}), exit_code::can);
    EXPECT_EQ(fleet.asked_subject.subject.name, "shop/a");
    EXPECT_EQ(run_with({"where", "shop/a.xml", "--aggregator", "fleet.example:1"}),
              exit_code::error);
    EXPECT_NE(err.find("no such file"), std::string::npos);
}

TEST_F(FleetCommandsTest, SaysThatStdoutIsFull) {
    full = true;

    for (const auto* word : {"nodes", "--help", "--version"}) {
        EXPECT_EQ(run_with({word}), exit_code::error) << word;
        EXPECT_NE(err.find("cannot write"), std::string::npos) << word;
    }
}

TEST_F(FleetCommandsTest, SettingsComeFromFileAndFlags) {
    config = folder
                 .write("other.yaml",
                        "aggregator-address: fleet.example:1\noutput: json\ndeadline: 1s\n")
                 .string();

    ASSERT_EQ(run_with({"nodes", "--deadline", "3s"}), exit_code::can);
    EXPECT_EQ(used.aggregator, "fleet.example:1");
    EXPECT_EQ(used.deadline, "3s");
    EXPECT_TRUE(answer().contains("schema"));
    EXPECT_EQ(run_with({"nodes", "--deadline", "never"}), exit_code::error);
    EXPECT_EQ(run_with({"nodes", "-o", "xml"}), exit_code::error);
}

TEST_F(FleetCommandsTest, APluginOfKubectlAsksTheClusterUnlessItIsToldOtherwise) {
    program = "/usr/local/bin/kubectl-scout";

    ASSERT_EQ(run_with({"nodes"}), exit_code::can);
    EXPECT_EQ(used.aggregator, "kube:");
    ASSERT_EQ(run_with({"nodes", "--aggregator", "fleet.example:1"}), exit_code::can);
    EXPECT_EQ(used.aggregator, "fleet.example:1");

    program = "scoutctl";
    ASSERT_EQ(run_with({"nodes"}), exit_code::can);
    EXPECT_EQ(used.aggregator, std::nullopt);
}

TEST_F(FleetCommandsTest, WhyTellsWhatTheAggregatorHasKept) {
    fleet.story = {.vmi = "shop/db", .pod = "virt-launcher-db-abcde", .node = "n1"};
    fleet.story.answer = {.cause = migration::Cause::node_pressure,
                          .resource = "memory",
                          .evidence = {"pod status Evicted"},
                          .certain = true,
                          .ended = true};
    EXPECT_EQ(run_with({"why", "shop/db"}), 0);
    EXPECT_EQ(fleet.asked, "shop/db");
    EXPECT_THAT(out, HasSubstr("virt-launcher-db-abcde on n1, which is gone"));
    EXPECT_THAT(out, HasSubstr("node-pressure, memory (certain)"));
    EXPECT_EQ(run_with({"why", "shop/db", "-o", "json"}), 0);
    EXPECT_EQ(answer().at("cause"), "node-pressure");

    fleet.down = Error{Errc::not_found, "no VMI shop/db is there"};
    EXPECT_EQ(run_with({"why", "shop/db"}), 2);
    EXPECT_THAT(err, HasSubstr("no VMI shop/db is there"));
}

}  // namespace
}  // namespace scout::cli
