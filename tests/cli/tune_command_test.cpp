// SPDX-License-Identifier: Apache-2.0
// scoutctl policy tune: the real program on a dump.
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using test::scoutctl;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> tune(std::vector<std::string> words) {
    words.insert(words.begin(), {"policy", "tune"});
    words.insert(words.end(), {"--from", "tune"});
    return words;
}

std::vector<std::string> tried(std::vector<std::string> words) {
    words.insert(words.end(), {"--for", "2h", "--post-copy", "--dry-run"});
    return tune(std::move(words));
}

json::value answer(std::vector<std::string> words, int code = 0) {
    words.insert(words.end(), {"-o", "json"});
    const auto outcome = scoutctl(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return json::parse(outcome.out.empty() ? "null" : outcome.out);
}

TEST(TuneCommandTest, SaysWhomItIsForAndWhatChangesMeanwhile) {
    const auto outcome = scoutctl(tried({"--namespace", "shop", "--name", "drain"}));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(
        outcome.out,
        AllOf(HasSubstr("drain, until 2026-11-30T14:00:00Z"), HasSubstr("allowPostCopy true"),
              HasSubstr("2 of 3 VMs: shop/web-1, shop/web-2"),
              HasSubstr("not for shop/db: policy gold names more labels: 2, this one 1")));
    EXPECT_THAT(outcome.out, testing::ContainsRegex("slow +2 +allowPostCopy +false +true"));
}

TEST(TuneCommandTest, ATieIsLostToALowerName) {
    const auto outcome = scoutctl(tried({"--namespace", "shop"}));

    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.out,
                AllOf(HasSubstr("virt-scout-tune-20261130-120000"),
                      HasSubstr("shop/web-1, shop/web-2: policy slow names as many"),
                      HasSubstr("a --name below it would win"), HasSubstr("nothing is made")));
}

TEST(TuneCommandTest, MoreLabelsDisplaceFewer) {
    const auto all = answer(tried({"--all"}), 1);
    EXPECT_EQ(all.at("vms"), json::array{}) << "every VM has a policy that names more";

    const auto shop = answer(tried({"--namespace", "shop", "--namespace-selector", "stage=live"}));
    EXPECT_EQ(shop.at("copies"), "slow");
    EXPECT_EQ(shop.at("outrankedBy").at(0).at("policy"), "gold");
}

TEST(TuneCommandTest, OneVmNeedsALabelOfItsOwn) {
    const auto db = answer(tried({"shop/db"}));
    EXPECT_EQ(db.at("vms"), json::array{"shop/db"});
    EXPECT_EQ(db.at("copies"), "gold");
    EXPECT_FALSE(db.at("selectors")
                     .at("virtualMachineInstanceSelector")
                     .as_object()
                     .contains("kubevirt.io/nodeName"));

    const auto web = scoutctl(tried({"web-1"}));
    EXPECT_EQ(web.code, 2);
    EXPECT_THAT(web.err, AllOf(HasSubstr("shop/web-2 would go by the same policy"),
                               HasSubstr("--selector")));
    const auto both = answer(tried({"--namespace", "shop", "--selector", "app=web"}));
    EXPECT_EQ(both.at("vms").as_array().size(), 2U);
}

TEST(TuneCommandTest, OthersSayWhenOneEnds) {
    const auto policy = answer({"policy", "trial", "--from", "tune"});
    EXPECT_EQ(policy.at("stockEnds"), "2026-11-30T13:00:00Z");
    EXPECT_THAT(scoutctl({"policy", "trial", "--from", "tune"}).out,
                HasSubstr("virt-scout-tune-20261130-110000, until 2026-11-30T13:00:00Z"));
    EXPECT_TRUE(answer({"policy", "shop/db", "--from", "tune"}).at("stockEnds").is_null());

    std::vector<std::string> codes;
    const auto findings = answer({"policy", "lint", "--from", "tune"});
    for (const auto& row : findings.as_array()) {
        codes.emplace_back(std::string{row.at("policy").as_string()} + " " +
                           std::string{row.at("code").as_string()});
    }
    EXPECT_THAT(codes, testing::ElementsAre("virt-scout-tune-20261130-110000 tuned",
                                            "virt-scout-tune-by-hand tune-expiry",
                                            "virt-scout-tune-by-hand chooses-none"));
    EXPECT_THAT(scoutctl(tune({"--list"})).out,
                AllOf(HasSubstr("60 min"), HasSubstr("not by itself")));
}

TEST(TuneCommandTest, RefusesWhatCannotBeMade) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {tune({"--all", "--for", "2h", "--dry-run"}), "expected a field to set"},
        {tune({"--all", "--post-copy", "--dry-run"}), "expected --for"},
        {tune({"--all", "--post-copy", "--for", "59s", "--dry-run"}), "--for from 1m to 7d"},
        {tune({"--all", "--post-copy", "--for", "8d", "--dry-run"}), "--for from 1m to 7d"},
        {tune({"--all", "--post-copy", "--for", "2", "--dry-run"}), "policy tune --for"},
        {tune({"--all", "--post-copy", "--for", "2h"}), "expected --dry-run beside --from"},
        {tried({}), "expected for whom"},
        {tried({"--all", "shop/db"}), "expected for whom"},
        {tried({"--selector", "app", "--all"}), "expected for whom"},
        {tried({"--selector", "app in (a)"}), "policies choose by exact values"},
        {tried({"--all", "--bandwidth", "fast"}), "--bandwidth"},
        {tried({"--all", "--completion-timeout", "-1"}), "0 seconds or more"},
        {tried({"--all", "--name", "Drain"}), "expected --name"},
        {tried({"--all", "--name", "virt-scout-move-x"}), "expected --name"},
        {tried({"--all", "--name", "gold"}), "gold is there already"},
        {tried({"--list"}), "expected --end NAME or --list alone"},
        {tune({"--end", "x"}), "expected --end NAME or --list alone"},
        {{"policy", "shop/db", "--for", "2h", "--from", "tune"}, "expected 'policy tune'"}};
    for (const auto& [words, expected] : cases) {
        const auto outcome = scoutctl(words);
        EXPECT_EQ(outcome.code, 2) << testing::PrintToString(words);
        EXPECT_THAT(outcome.err, HasSubstr(expected)) << testing::PrintToString(words);
        EXPECT_TRUE(outcome.out.empty()) << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace scout::cli
