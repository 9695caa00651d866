// SPDX-License-Identifier: Apache-2.0
// Lists in pages, and answers that are none.
#include "tests/kube/reflector_fixture.h"

namespace scout::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReflectorRefusalTest : public ReflectorFixture {};
class ReflectorPagesTest : public PagedReflectorFixture {};
class ReflectorRefusalCodeTest : public ReflectorFixture,
                                 public ::testing::WithParamInterface<unsigned> {};

std::string added(const std::string& name, const std::string& version) {
    return watch_line("ADDED", thing_json(name, version));
}

TEST_P(ReflectorRefusalCodeTest, ReadsPagesWhereTheServerStreamsNoListsAndRemembersIt) {
    transport.then_body(GetParam(), status_json(GetParam(), "Invalid"));
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_body(200, list_json("20", {thing_json("a", "3"), thing_json("b", "12")}));
    transport.then_last_lines({added("c", "21")});

    run();

    EXPECT_THAT(target(0), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(target(1), HasSubstr("/things?limit=100"));
    EXPECT_THAT(target(2), HasSubstr("&resourceVersion=9"));
    EXPECT_THAT(target(3), HasSubstr("/things?limit="));
    EXPECT_THAT(target(4), HasSubstr("&resourceVersion=20"));
    EXPECT_THAT(changes(),
                ElementsAre("add a 3 by list", "synced", "add b 12 by list", "add c 21"));
}

INSTANTIATE_TEST_SUITE_P(Codes, ReflectorRefusalCodeTest, ::testing::Values(400U, 422U));

TEST_F(ReflectorPagesTest, FollowsPagesAndFitsTheirSize) {
    transport.then_body(200, list_json("9", {thing_json("a", "3")}, "to/ken=="));
    transport.then_body(200, list_json("9", {thing_json("b", "4")}, "second"));
    transport.then_body(200, list_json("9", {}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(target(0), HasSubstr("?limit=100"));
    EXPECT_THAT(target(1), HasSubstr("?limit=400&continue=to%2Fken%3D%3D"));
    EXPECT_THAT(target(2), HasSubstr("?limit=1600&continue=second"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "add b 4 by list", "synced"));
    EXPECT_EQ(informer.reflector().counters().pages, 3U);
    EXPECT_EQ(informer.reflector().counters().lists, 1U);
}

TEST_F(ReflectorPagesTest, AnExpiredTokenStartsTheListAnewWithLargerPages) {
    transport.then_body(200, list_json("9", {thing_json("stale", "3")}, "t1"));
    transport.then_body(410, status_json(410, "Expired"));
    transport.then_body(200, list_json("30", {thing_json("a", "25")}, "t2"));
    transport.then_body(200, list_json("30", {thing_json("b", "26")}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(target(2), Not(HasSubstr("continue")));
    EXPECT_THAT(target(4), HasSubstr("&resourceVersion=30"));
    EXPECT_THAT(changes(), ElementsAre("add a 25 by list", "add b 26 by list", "synced"));
}

TEST_F(ReflectorPagesTest, AListThatStaysOlderIsTakenForARestoredBackup) {
    transport.then_body(200, list_json("50", {thing_json("a", "3", "old")}));
    transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_body(200, list_json("20", {thing_json("a", "3", "new")}));
    transport.then_body(200, list_json("20", {thing_json("a", "3", "new")}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "update a 3 by list"));
    ASSERT_NE(informer.find("s", "a"), nullptr);
    EXPECT_EQ(informer.find("s", "a")->text, "new");
    EXPECT_EQ(informer.reflector().counters().restored, 1U);
}

TEST_F(ReflectorPagesTest, AnItemThatIsNoObjectCostsNoneOfTheOthers) {
    transport.then_body(200, list_json("9", {thing_json("a", "3"), thing_json("b", "4")}));
    transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_body(200, list_json("20", {thing_json("a", "12"), R"("what?")"}));
    transport.then_last_lines({});

    run();

    // Nobody can say whether the item is b: nothing is taken for deleted.
    EXPECT_THAT(changes(),
                ElementsAre("add a 3 by list", "add b 4 by list", "synced", "update a 12 by list"));
    EXPECT_EQ(informer.store_counters().undecodable, 1U);
}

TEST_F(ReflectorPagesTest, AsksForLessWhereAPageIsMoreThanTheTransportTakes) {
    transport.then({.error = Errc::invalid});
    transport.then({.error = Errc::invalid});
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));

    run();

    EXPECT_THAT(target(1), HasSubstr("?limit=50"));
    EXPECT_THAT(target(2), HasSubstr("?limit=25"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
}

TEST_F(ReflectorPagesTest, ATokenThatLeadsToItselfIsNotFollowedForEver) {
    transport.then_body(200, list_json("9", {thing_json("a", "3")}, "next"));
    transport.then_body(200, list_json("9", {thing_json("b", "4")}, "next"));
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(target(2), Not(HasSubstr("continue")));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
    EXPECT_EQ(informer.reflector().counters().errors, 1U);
}

TEST_F(ReflectorPagesTest, ABodyThatIsNoListChangesNothing) {
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_body(200, R"({"kind":"ThingList","items":[{"metadata":)");
    transport.then_body(200, "<html>proxy</html>");
    transport.then_body(200, R"({"kind":"ThingList","metadata":{},"items":[]})");
    transport.then_body(200, list_json("21", {thing_json("a", "3")}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
    EXPECT_EQ(informer.reflector().counters().errors, 3U);
}

TEST_F(ReflectorRefusalTest, AMissingRightIsCountedAndTheRestIsReadAsFarAsItGoes) {
    transport.then_body(403, status_json(403, "Forbidden"));
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_body(403, status_json(403, "Forbidden"));
    // Without a watch only another list tells what is new.
    transport.then_body(403, status_json(403, "Forbidden"));
    transport.then_body(200, list_json("12", {thing_json("b", "11")}));
    transport.then_body(403, status_json(403, "Forbidden"));

    run();

    EXPECT_THAT(changes(),
                ElementsAre("add a 3 by list", "synced", "delete a 3 by list", "add b 11 by list"));
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::forbidden);
    EXPECT_EQ(informer.reflector().counters().forbidden, 2U);
    EXPECT_FALSE(informer.reflector().grows_stale());
    EXPECT_THAT(informer.reflector().trouble(), HasSubstr("watch things.test.io"));
}

TEST_F(ReflectorRefusalTest, KeepsWhatItKnowsWhileARightIsMissing) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    for (int call = 0; call < 5; ++call) {
        transport.then_body(403, status_json(403, "Forbidden"));
    }

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
    EXPECT_EQ(informer.size(), 1U);
    EXPECT_TRUE(informer.reflector().grows_stale());
}

class StartingServerTest : public ReflectorFixture {
protected:
    static kube::ReflectorSettings slow() {
        auto chosen = settings();
        chosen.slow_retry = std::chrono::hours{1};
        return chosen;
    }
    StartingServerTest() : ReflectorFixture(slow()) {}
};

/// It refuses all until it has read its roles.
TEST_F(StartingServerTest, ItsRefusalsAreNotTakenForAMissingRightAtOnce) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    for (unsigned call = 0; call < kube::ReflectorSettings{}.doubted_refusals; ++call) {
        transport.then_body(403, status_json(403, "Forbidden"));
    }
    transport.then_last_lines({added("b", "10"), bookmark_line("11", true)});

    run();

    EXPECT_THAT(changes(), Contains("add b 10 by list"));
}

TEST_F(ReflectorRefusalTest, AKindThatIsNotServedHasNoObjectsOnceThatIsSure) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then_body(404, status_json(404, "NotFound"));
    // The streaming list, and the pages.
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_last_lines({added("a", "30"), bookmark_line("31", true)});

    run();

    EXPECT_THAT(changes(),
                ElementsAre("add a 3 by list", "synced", "delete a 3 by list", "add a 30 by list"));
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::watching);
}

TEST_F(ReflectorRefusalTest, AKindThatWasNeverServedIsInSyncAtTheSecondAnswer) {
    for (int call = 0; call < 4; ++call) {
        transport.then_body(404, status_json(404, "NotFound"));
    }

    run();

    EXPECT_THAT(changes(), ElementsAre("synced"));
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::absent);
}

TEST_F(ReflectorRefusalTest, AKindThatIsServedALittleLaterIsNotTakenForAbsent) {
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_body(404, status_json(404, "NotFound"));
    transport.then_last_lines({added("a", "30"), bookmark_line("31", true)});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 30 by list", "synced"));
}

/// As some aggregated API servers have them.
class UnwatchedKindTest : public ReflectorFixture, public ::testing::WithParamInterface<unsigned> {
protected:
    void refuse_watch() { transport.then_body(GetParam(), status_json(GetParam(), "Refused")); }
};

TEST_P(UnwatchedKindTest, IsListedInPagesWithAPauseBetweenTheLists) {
    for (const char* version : {"9", "12"}) {
        refuse_watch();
        transport.then_body(200, list_json(version, {thing_json("a", version)}));
        refuse_watch();
    }

    run();

    EXPECT_THAT(target(0), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(target(1), HasSubstr("/things?limit=100"));
    EXPECT_THAT(target(2), HasSubstr("&resourceVersion=9"));
    EXPECT_THAT(target(3), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(changes(), ElementsAre("add a 9 by list", "synced", "update a 12 by list"));
    const auto& reflector = informer.reflector();
    EXPECT_EQ(reflector.state(), kube::ReflectorState::unwatched);
    EXPECT_THAT(reflector.trouble(), HasSubstr("watch things.test.io"));
    EXPECT_EQ(reflector.counters().errors, 2U);
    EXPECT_FALSE(reflector.grows_stale());
}

TEST_P(UnwatchedKindTest, IsWatchedOnceTheServerCan) {
    refuse_watch();
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    refuse_watch();
    transport.then_last_lines({added("a", "3"), bookmark_line("20", true), added("b", "21")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "add b 21"));
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::watching);
}

TEST_P(UnwatchedKindTest, IsAbsentOnceItIsNotEvenListed) {
    refuse_watch();
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    refuse_watch();
    for (int call = 0; call < 4; ++call) {
        transport.then_body(404, status_json(404, "NotFound"));
    }

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3 by list"));
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::absent);
}

INSTANTIATE_TEST_SUITE_P(Codes, UnwatchedKindTest, ::testing::Values(404U, 405U));

/// Pauses that a test can see.
class PausingReflectorTest : public ReflectorFixture {
protected:
    static kube::ReflectorSettings pausing() {
        auto chosen = settings();
        chosen.backoff = {std::chrono::milliseconds{50}, std::chrono::milliseconds{50}};
        return chosen;
    }
    PausingReflectorTest() : ReflectorFixture(pausing()) {}
};

TEST_F(PausingReflectorTest, AKindThatIsNotWatchedIsNotAskedForInALoop) {
    for (const char* version : {"9", "12", "15"}) {
        transport.then_body(405, status_json(405, "MethodNotAllowed"));
        transport.then_body(200, list_json(version, {}));
        transport.then_body(405, status_json(405, "MethodNotAllowed"));
    }
    const auto begin = std::chrono::steady_clock::now();

    run();

    EXPECT_EQ(informer.reflector().counters().lists, 3U);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{75});
}

TEST_F(ReflectorRefusalTest, WaitsAsLongAsTheServerAsks) {
    transport.then({.status = 429, .retry_after = std::chrono::seconds{1}});
    transport.then_last_lines({bookmark_line("9", true)});
    const auto begin = std::chrono::steady_clock::now();

    run();

    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds{1});
    EXPECT_THAT(changes(), ElementsAre("synced"));
}

TEST_F(ReflectorRefusalTest, ReadsPagesAfterAStreamedListThatBroke) {
    transport.then({.lines = {added("a", "3")}, .end = Errc::timed_out});
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_last_lines({bookmark_line("20", true)});

    run();

    EXPECT_THAT(target(1), HasSubstr("?limit=100"));
    EXPECT_THAT(target(3), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3 by list"));
}

TEST_F(ReflectorRefusalTest, GivesUpOnStreamedListsThatKeepBreaking) {
    for (const char* version : {"9", "19", "29"}) {
        transport.then_lines({added("a", "3")});
        transport.then_body(200, list_json(version, {thing_json("a", "3")}));
        transport.then_lines({watch_line("ERROR", status_json(410, "Expired"))});
    }
    transport.then_body(200, list_json("39", {thing_json("a", "3")}));

    run();

    EXPECT_THAT(target(9), HasSubstr("?limit="));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
}

TEST_F(ReflectorRefusalTest, ConnectionsThatFailAreTriedAgain) {
    transport.then({.error = Errc::unavailable});
    transport.then({.error = Errc::timed_out});
    transport.then({.error = Errc::invalid});
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then({.error = Errc::unavailable});
    transport.then({.error = Errc::unavailable});
    transport.then_body(200, list_json("9", {thing_json("a", "3")}));
    transport.then_last_lines({});

    run();

    EXPECT_THAT(target(6), HasSubstr("?limit=1"));
    EXPECT_THAT(target(7), HasSubstr("&resourceVersion=9"));
    EXPECT_EQ(informer.reflector().counters().errors, 5U);
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
}

}  // namespace
}  // namespace scout::test
