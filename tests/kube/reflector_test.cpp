// SPDX-License-Identifier: Apache-2.0
// Streaming lists and watches.
#include "tests/kube/reflector_fixture.h"

namespace scout::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class ReflectorTest : public ReflectorFixture {};

std::string added(const std::string& name, const std::string& version) {
    return watch_line("ADDED", thing_json(name, version));
}
std::string modified(const std::string& name, const std::string& version) {
    return watch_line("MODIFIED", thing_json(name, version));
}
std::string deleted(const std::string& name, const std::string& version) {
    return watch_line("DELETED", thing_json(name, version));
}

TEST_F(ReflectorTest, StreamsTheListAndGoesOnInTheSameAnswer) {
    transport.then_last_lines({added("a", "3"), added("b", "5"), bookmark_line("9", true),
                               modified("a", "10"), deleted("b", "11"), added("c", "12")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "add b 5 by list", "synced",
                                       "update a 10", "delete b 5", "add c 12"));
    ASSERT_EQ(transport.requests().size(), 1U);
    EXPECT_THAT(target(0), HasSubstr("/apis/test.io/v1/things?watch=1&allowWatchBookmarks=true"));
    EXPECT_THAT(target(0), HasSubstr("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
    EXPECT_THAT(target(0), HasSubstr("&timeoutSeconds="));
    EXPECT_THAT(target(0), Not(HasSubstr("resourceVersion=")));
    EXPECT_EQ(informer.size(), 2U);
    ASSERT_NE(informer.find("s", "a"), nullptr);
    EXPECT_EQ(informer.find("s", "a"), informer.find_uid("u-a"));
    EXPECT_EQ(informer.reflector().version(), "12");
    EXPECT_EQ(informer.reflector().state(), kube::ReflectorState::watching);
}

TEST_F(ReflectorTest, TellsNothingOfAStreamedListBeforeItIsComplete) {
    transport.then_last_lines({added("a", "3"), added("b", "5")});

    run();

    EXPECT_THAT(changes(), IsEmpty());
    EXPECT_FALSE(informer.synced());
}

TEST_F(ReflectorTest, TakesChangesThatComeWithinAStreamedList) {
    transport.then_last_lines({added("a", "3"), added("b", "5"), modified("a", "7"),
                               deleted("b", "8"), bookmark_line("9", true)});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 7 by list", "synced"));
}

TEST_F(ReflectorTest, WatchesAgainFromTheLastVersionWhenTheServerEndsAWatch) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true), modified("a", "12")});
    transport.then_lines({modified("a", "15")});
    transport.then_last_lines({});

    run();

    EXPECT_THAT(target(1), HasSubstr("&resourceVersion=12"));
    EXPECT_THAT(target(1), Not(HasSubstr("sendInitialEvents")));
    EXPECT_THAT(target(2), HasSubstr("&resourceVersion=15"));
    EXPECT_EQ(informer.reflector().counters().lists, 1U);
}

TEST_F(ReflectorTest, BookmarksOnlyMoveTheVersion) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true), bookmark_line("40")});
    transport.then_last_lines({});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
    EXPECT_THAT(target(1), HasSubstr("&resourceVersion=40"));
    EXPECT_EQ(informer.reflector().counters().bookmarks, 2U);
    EXPECT_EQ(informer.reflector().counters().events, 1U);
}

TEST_F(ReflectorTest, AnExpiredVersionInAGoodStreamGivesTheDifferenceAlone) {
    transport.then_lines({added("same", "1"), added("changed", "2"), added("gone", "3"),
                          added("replaced", "4"), bookmark_line("9", true),
                          watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_last_lines(
        {added("same", "1"), added("changed", "20"), added("new", "21"),
         watch_line("ADDED", thing_json("replaced", "22", "t", "another-uid")),
         bookmark_line("30", true)});

    run();

    auto told = changes();
    ASSERT_EQ(told.size(), 10U);
    told.erase(told.begin(), told.begin() + 5);
    EXPECT_THAT(told, UnorderedElementsAre("delete gone 3 by list", "delete replaced 4 by list",
                                           "update changed 20 by list", "add new 21 by list",
                                           "add replaced 22 by list"));
    EXPECT_EQ(informer.reflector().counters().expired, 1U);
    EXPECT_EQ(informer.reflector().counters().lists, 2U);
    EXPECT_EQ(informer.size(), 4U);
}

TEST_F(ReflectorTest, AnExpiredVersionAsStatusIsTheSame) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then_body(410, status_json(410, "Expired"));
    transport.then_last_lines({bookmark_line("30", true)});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3 by list"));
    EXPECT_THAT(target(2), HasSubstr("sendInitialEvents=true"));
}

TEST_F(ReflectorTest, AListThatIsOlderThanWhatWasSeenIsAskedForOnceMore) {
    transport.then_lines({added("a", "3"), bookmark_line("50", true),
                          watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_lines({bookmark_line("20", true)});
    transport.then_last_lines({added("a", "3"), bookmark_line("60", true)});

    run();

    // Versions were in doubt, so the object is told once more, but never as deleted.
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "update a 3 by list"));
    EXPECT_EQ(informer.reflector().counters().restored, 0U);
}

TEST_F(ReflectorTest, AListThatStaysOlderIsTakenForARestoredBackup) {
    transport.then_lines({added("a", "3"), added("b", "40"), bookmark_line("50", true),
                          watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_lines({added("a", "3"), bookmark_line("20", true)});
    transport.then_lines({added("a", "3"), bookmark_line("20", true), added("c", "21")});
    transport.then_last_lines({});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "add b 40 by list", "synced",
                                       "delete b 40 by list", "update a 3 by list", "add c 21"));
    EXPECT_EQ(informer.reflector().counters().restored, 1U);
    EXPECT_EQ(informer.reflector().counters().lists, 2U);
    EXPECT_EQ(informer.reflector().counters().errors, 0U);
    EXPECT_THAT(target(3), HasSubstr("&resourceVersion=21"));
}

TEST_F(ReflectorTest, ABrokenWatchOfAStoreThatWasSetBackLeadsToAList) {
    transport.then({.lines = {added("a", "3"), added("b", "40"), bookmark_line("50", true)},
                    .end = Errc::unavailable});
    transport.then({.error = Errc::unavailable});
    transport.then_body(200, list_json("20", {thing_json("a", "3")}));
    transport.then_lines({added("a", "3"), bookmark_line("20", true)});
    transport.then_last_lines({added("a", "3"), bookmark_line("20", true), added("c", "21")});

    run();

    EXPECT_EQ(target(1), "/apis/test.io/v1/things?limit=1");
    EXPECT_EQ(target(2), "/apis/test.io/v1/things?limit=1");
    EXPECT_THAT(target(3), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "add b 40 by list", "synced",
                                       "delete b 40 by list", "update a 3 by list", "add c 21"));
    EXPECT_EQ(informer.reflector().counters().restored, 1U);
}

/// The store may have been set back under a server that went on.
class PunctualReflectorTest : public ReflectorFixture {
protected:
    PunctualReflectorTest() : ReflectorFixture(five_minutes()) {}

    static kube::ReflectorSettings five_minutes() {
        auto chosen = settings();
        chosen.watch_timeout = std::chrono::minutes{5};
        return chosen;
    }
};

TEST_F(PunctualReflectorTest, AWatchThatTheServerEndsTooEarlyIsTakenForABrokenOne) {
    transport.then({.lines = {added("a", "3"), bookmark_line("50", true), bookmark_line("51")},
                    .at_end = [this] { clock.advance(std::chrono::minutes{3}); }});
    transport.then_body(200, list_json("51", {thing_json("a", "3")}));
    transport.then({.lines = {bookmark_line("60")},
                    .at_end = [this] { clock.advance(std::chrono::minutes{7}); }});
    transport.then_last_lines({});

    run();

    EXPECT_EQ(target(1), "/apis/test.io/v1/things?limit=1");
    EXPECT_THAT(target(2), HasSubstr("&resourceVersion=51"));
    EXPECT_THAT(target(3), HasSubstr("&resourceVersion=60"));
    EXPECT_EQ(informer.reflector().counters().lists, 1U);
}

TEST_F(ReflectorTest, ABookmarkThatGoesBackLeadsToAList) {
    transport.then_lines({added("a", "3"), bookmark_line("50", true), bookmark_line("30")});
    transport.then_last_lines({added("a", "3"), bookmark_line("55", true)});

    run();

    EXPECT_THAT(target(1), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
}

TEST_F(ReflectorTest, AWatchThatGoesSilentIsBegunAnewWhereItWas) {
    transport.then({.lines = {added("a", "3"), bookmark_line("9", true)}, .end = Errc::timed_out});
    transport.then_body(200, list_json("11", {thing_json("a", "3")}));
    transport.then_last_lines({modified("a", "12")});

    run();

    EXPECT_EQ(target(1), "/apis/test.io/v1/things?limit=1");
    EXPECT_THAT(target(2), HasSubstr("&resourceVersion=9"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "update a 12"));
    EXPECT_EQ(informer.reflector().counters().errors, 1U);
}

/// A dead server behind a proxy that keeps its connections is found by what it does not send.
TEST_F(PunctualReflectorTest, AWatchWhoseBookmarksStayAwayIsBegunAnew) {
    using std::chrono::minutes;
    transport.then(
        {.lines = {bookmark_line("50", true), bookmark_line("51")}, .end = Errc::timed_out});
    transport.then_body(200, list_json("51", {}));
    transport.then({.end = Errc::timed_out});
    transport.then_body(200, list_json("51", {}));
    transport.then_last_lines({});

    run();

    const auto grace = settings().silence_grace;
    ASSERT_EQ(transport.silences().size(), 5U);
    EXPECT_GT(transport.silences()[1], minutes{3}) << "none came yet";
    EXPECT_EQ(transport.silences()[2], minutes{2} + grace);
    EXPECT_EQ(transport.silences()[3], minutes{2} + grace);
    EXPECT_GT(transport.silences()[4], minutes{3}) << "a whole watch had none";
    EXPECT_THAT(target(4), HasSubstr("&resourceVersion=51"));
}

TEST_F(ReflectorTest, AWatchThatEndsWithoutEvenABookmarkIsNotTrusted) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then({.at_end = [this] { clock.advance(std::chrono::minutes{5}); }});
    transport.then_last_lines({bookmark_line("4", true)});

    run();

    EXPECT_THAT(target(2), HasSubstr("sendInitialEvents=true"));
}

TEST_F(ReflectorTest, AVersionThatIsTooLargeForTheServerLeadsToAList) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true)});
    transport.then_body(504, status_json(504, "Timeout", "ResourceVersionTooLarge"));
    transport.then_last_lines({added("a", "3"), bookmark_line("10", true)});

    run();

    EXPECT_THAT(target(2), HasSubstr("sendInitialEvents=true"));
    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced"));
}

TEST_F(ReflectorTest, DuplicateAndLateEventsAreLeftOut) {
    transport.then_last_lines({added("a", "3"), bookmark_line("9", true), modified("a", "12"),
                               modified("a", "12"), modified("a", "11"), deleted("a", "14"),
                               deleted("a", "14"), modified("a", "13"), added("b", "10")});

    run();

    EXPECT_THAT(changes(),
                ElementsAre("add a 3 by list", "synced", "update a 12", "delete a 12", "add b 10"));
    EXPECT_EQ(informer.store_counters().stale, 4U);
    EXPECT_EQ(informer.reflector().version(), "14");
}

/// As one whose label changes to and fro under a label selector.
TEST_F(ReflectorTest, AnObjectThatLeavesTheSelectionComesBackWithANewerVersion) {
    transport.then_last_lines({added("a", "3"), bookmark_line("9", true), deleted("a", "12"),
                               modified("a", "11"), added("a", "12"), added("a", "15"),
                               deleted("a", "12"), deleted("a", "20"), added("a", "20"),
                               added("a", "21")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3", "add a 15",
                                       "delete a 15", "add a 21"));
    EXPECT_EQ(informer.store_counters().stale, 4U);
    EXPECT_NE(informer.find("s", "a"), nullptr);
}

TEST_F(ReflectorTest, ADeletedObjectWhoseVersionsAreNoNumbersStaysDeleted) {
    transport.then_last_lines(
        {added("a", "z"), bookmark_line("y", true), deleted("a", "x"), added("a", "w")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a z by list", "synced", "delete a z"));
}

TEST_F(ReflectorTest, VersionsThatAreNoNumbersAreToldApartOnly) {
    transport.then_lines({added("a", "z"), bookmark_line("y", true), modified("a", "b"),
                          modified("a", "b"), modified("a", "a")});
    transport.then_last_lines({});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a z by list", "synced", "update a b", "update a a"));
    EXPECT_THAT(target(1), HasSubstr("&resourceVersion=a"));
}

TEST_F(ReflectorTest, TheSameNameWithANewUidIsAnotherObject) {
    transport.then_last_lines({added("a", "3"), bookmark_line("9", true),
                               watch_line("ADDED", thing_json("a", "12", "t", "second")),
                               deleted("a", "11")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3", "add a 12"));
    ASSERT_NE(informer.find("s", "a"), nullptr);
    EXPECT_EQ(informer.find("s", "a")->meta.uid, "second");
}

TEST_F(ReflectorTest, AnObjectThatCannotBeReadKeepsItsFormerState) {
    const std::string bad =
        R"({"metadata":{"name":"a","namespace":"s","uid":"u-a","resourceVersion":"12"},"text":7})";
    const std::string nameless = R"({"metadata":{"namespace":"s"},"text":"t"})";
    transport.then_lines({added("a", "3"), bookmark_line("9", true), watch_line("MODIFIED", bad),
                          watch_line("MODIFIED", nameless), added("b", "13"),
                          watch_line("ERROR", status_json(410, "Expired"))});
    transport.then_last_lines({watch_line("ADDED", bad), added("b", "13"),
                               bookmark_line("20", true), modified("a", "21")});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "add b 13", "update a 21"));
    EXPECT_EQ(informer.store_counters().undecodable, 3U);
}

TEST_F(ReflectorTest, ALineThatIsNoEventLeadsToAList) {
    transport.then_lines({added("a", "3"), bookmark_line("9", true), R"({"type":"ADDED","obj)"});
    transport.then_last_lines({bookmark_line("20", true)});

    run();

    EXPECT_THAT(changes(), ElementsAre("add a 3 by list", "synced", "delete a 3 by list"));
}

}  // namespace
}  // namespace scout::test
