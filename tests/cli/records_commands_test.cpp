// SPDX-License-Identifier: Apache-2.0
// scoutctl why and stuck: the real program on dumps of clusters.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using test::scoutctl;
using testing::HasSubstr;
using testing::Not;

json::value answer(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = scoutctl(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out.empty() ? "null" : outcome.out);
}

TEST(StuckCommandTest, TellsOfTheRealDump) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto live = (data / "kubevirt/live").string();

    const auto stuck = answer({"stuck", "--from", live, "--at", "2026-11-27T23:06:39Z"});

    ASSERT_EQ(stuck.as_array().size(), 3U);
    EXPECT_EQ(stuck.at(0).at("vmi"), "shop/evac-1");
    EXPECT_EQ(stuck.at(0).at("state"), "being-moved");
    EXPECT_EQ(stuck.at(1).at("vmi"), "shop/ext-1");
    EXPECT_EQ(stuck.at(1).at("state"), "external");
    EXPECT_EQ(stuck.at(2).at("vmi"), "shop/stuck-1");
    EXPECT_EQ(stuck.at(2).at("failed"), 3);
    EXPECT_EQ(stuck.at(2).at("nextTry"), "2026-11-27T23:07:35Z");
    EXPECT_TRUE(stuck.at(2).at("cancel").at("possible").as_bool());
}

TEST(StuckCommandTest, PeopleGetTheCommandThatCancels) {
    const auto outcome = scoutctl({"stuck", "--from", "night"});

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("virtctl evacuate-cancel vmi web -n shop"));
    EXPECT_THAT(outcome.out, HasSubstr(R"(echo '{"evacuationNodeName":"n1"}' | kubectl replace)"));
    EXPECT_THAT(outcome.out, HasSubstr("virt-handler on node n1 is not ready"));
}

TEST(StuckCommandTest, NamesThatAShellWouldReadOtherwiseAreInNoCommand) {
    const scout::test::TemporaryFolder folder;
    folder.write("a.json",
                 R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":
        {"name":"a;reboot","namespace":"ns"},"spec":{"evictionStrategy":"LiveMigrate"},
        "status":{"phase":"Running","nodeName":"n1","evacuationNodeName":"n1"}})");

    const auto outcome = scoutctl({"stuck", "--from", folder.path().string()});

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("a;reboot"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("virtctl")));
}

TEST(StuckCommandTest, OfADumpWithoutMigrationsNoneIsSaidToBeMissing) {
    const scout::test::TemporaryFolder folder;
    folder.write(
        "a.yaml",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n"
        "metadata: {name: a, namespace: ns, uid: a}\n"
        "spec: {evictionStrategy: LiveMigrate}\n"
        "status: {phase: Running, nodeName: n1, evacuationNodeName: n1, "
        "selinuxContext: none, conditions: [{type: LiveMigratable, status: 'True'}],\n"
        "  migrationState: {migrationUid: m, failureReason: too slow, completed: true}}\n");
    const auto path = folder.path().string();
    EXPECT_EQ(answer({"stuck", "--from", path}).at(0).at("waitingFor"),
              "not known: no migrations were read");

    folder.write("m.yaml",
                 "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
                 "metadata: {name: m, namespace: ns, uid: m, "
                 "annotations: {kubevirt.io/evacuationMigration: n1}}\n"
                 "spec: {vmiName: a}\nstatus: {phase: Failed}\n");
    const auto stuck = answer({"stuck", "--from", path}).at(0);
    EXPECT_EQ(stuck.at("failed"), 1);
    EXPECT_EQ(stuck.at("failure"), "too slow") << "the VMI says it";
}

TEST(StuckCommandTest, NothingStuckIsSaid) {
    const auto outcome = scoutctl({"stuck", "--from", "cluster"});

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("nothing is stuck at "));
    EXPECT_TRUE(answer({"stuck", "--from", "cluster"}).as_array().empty());
}

TEST(WhyCommandTest, TellsTheStoryInAFewLines) {
    const auto outcome = scoutctl({"why", "shop/db", "--from", "night"});

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("node-pressure, ephemeral-storage (certain)"));
    EXPECT_THAT(outcome.out, HasSubstr("virt-launcher-db-abcde on n1, Failed"));
    EXPECT_THAT(outcome.out,
                HasSubstr("virt-scout:   gave up at 2026-03-02T02:50:15Z: its launcher"));
    EXPECT_THAT(outcome.out, HasSubstr("; 1 more with -o wide"));
    EXPECT_THAT(outcome.out, HasSubstr("; 3 more with -o wide"));
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 5);
}

TEST(WhyCommandTest, WideHasActsAndMigrations) {
    const auto outcome = scoutctl({"why", "shop/db", "--from", "night", "-o", "wide"});

    EXPECT_THAT(outcome.out, HasSubstr("gave up at"));
    EXPECT_THAT(outcome.out, HasSubstr("wanted by user (kubectl-create)"));
}

TEST(WhyCommandTest, AnswersOfThePodWhatItAnswersOfTheVm) {
    const auto vm = answer({"why", "shop/db", "--from", "night"});
    const auto pod = answer({"why", "virt-launcher-db-abcde", "--from", "night"});

    EXPECT_EQ(vm.at("cause"), "node-pressure");
    EXPECT_EQ(vm.at("resource"), "ephemeral-storage");
    EXPECT_EQ(vm, pod);
}

TEST(WhyCommandTest, WhereTheLauncherWasNotReadTheCauseIsUnknown) {
    const auto far = answer({"why", "shop/far", "--from", "night"});
    EXPECT_EQ(far.at("cause"), "unknown");
    EXPECT_FALSE(far.at("certain").as_bool());
    EXPECT_TRUE(far.at("mark").is_null());
    EXPECT_EQ(answer({"why", "shop/web", "--from", "night"}).at("mark"), "n2");

    const auto table = scoutctl({"why", "shop/web", "--from", "night"});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out,
                HasSubstr("marked to leave n2, and no migration of it runs: see scoutctl stuck"));
    EXPECT_THAT(table.out, HasSubstr("no launcher pod of it is among what was read"));
    EXPECT_THAT(table.out, Not(HasSubstr("nothing ends it")));
}

TEST(RecordCommandsTest, RefuseWhatCannotBeAnswered) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"why", "shop/db", "--aggregator", "unix:/nowhere"},
         "what became of shop/db is kept by the aggregator of a cluster alone"},
        {{"stuck"}, "stuck: expected --from"},
        {{"why", "shop/dbb", "--from", "night"}, "did you mean 'shop/db'?"},
        {{"stuck", "--from", "night", "--at", "yesterday"}, "--at: expected a time as"},
        {{"stuck", "--from", "night", "--live"}, "found both"},
        {{"why", "a", "--live", "--kubeconfig", "none"}, "none"},
        {{"stuck", "--from", "no-such-folder"}, "no-such-folder"}};
    for (const auto& [words, expected] : cases) {
        const auto outcome = scoutctl(words);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace scout::cli
