// SPDX-License-Identifier: Apache-2.0
#include "cluster/move_calls.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/run_to_end.h"
#include "tests/support/scripted_transport.h"

namespace scout::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* vmi_path = "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstances/vm1";
constexpr const char* moves = "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations";

std::string vmi(const std::string& status = "{}") {
    return R"({"metadata":{"name":"vm1","namespace":"ns","uid":"u","resourceVersion":"7"},"status":)" +
           status + "}";
}

std::string move(const std::string& name, const std::string& phase,
                 const std::string& deletion = {}) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"of )" + name +
           R"(","resourceVersion":"8")" +
           (deletion.empty() ? "" : R"(,"deletionTimestamp":")" + deletion + '"') +
           R"(},"spec":{"vmiName":"vm1"},"status":{"phase":")" + phase + R"("}})";
}

std::string list(const std::vector<std::string>& items) {
    std::string text = R"({"metadata":{"resourceVersion":"9"},"items":[)";
    for (const auto& item : items) {
        text += (text.back() == '[' ? "" : ",") + item;
    }
    return text + "]}";
}

class MoveCallsTest : public testing::Test {
protected:
    void answer(unsigned status, std::string body = "{}") {
        transport.then({.status = status, .body = std::move(body)});
    }
    [[nodiscard]] kube::ApiResult<MovesCancelled> cancel() {
        return test::run_to_end(loop, calls.cancel("ns", "vm1"));
    }
    /// What was done, reads left out.
    [[nodiscard]] std::vector<std::string> done() const {
        std::vector<std::string> out;
        for (const auto& request : transport.requests()) {
            if (request.method != "GET") {
                out.push_back(request.method + " " +
                              request.target.substr(0, request.target.find('?')));
            }
        }
        return out;
    }

    asio::io_context loop;
    test::FakeClock clock;
    test::ScriptedTransport transport;
    kube::Client client{transport, clock, {.backoff = {1ms, 2ms}}};
    MoveCalls calls{client};
};

TEST_F(MoveCallsTest, MakesOneAndTellsItsName) {
    answer(201, move("scoutctl-abc", ""));

    const auto made = test::run_to_end(loop, calls.make("ns", "{}"));

    ASSERT_TRUE(made);
    EXPECT_EQ(made->meta.name, "scoutctl-abc");
    EXPECT_THAT(done(), ElementsAre(std::string{"POST "} + moves));
}

TEST_F(MoveCallsTest, OneThatIsRefusedIsSaidWithTheServersWords) {
    answer(409, test::status_json(409, "AlreadyExists"));

    const auto made = test::run_to_end(loop, calls.make("ns", "{}"));

    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().error.message, HasSubstr("HTTP 409"));
}

/// In the other order KubeVirt makes another one within milliseconds.
TEST_F(MoveCallsTest, TakesTheMarkAwayBeforeTheMigrationAndNewcomersAfterIt) {
    answer(200, vmi(R"({"evacuationNodeName":"n1"})"));
    answer(200, list({move("old", "Failed"), move("evacuation", "Running")}));
    answer(200);
    answer(200);
    answer(200, list({move("evacuation", "Running", "2026-03-01T10:00:00Z"),
                      move("newcomer", "Pending")}));
    answer(200);
    answer(200, list({}));
    answer(200, vmi());

    const auto cancelled = cancel();

    ASSERT_TRUE(cancelled);
    EXPECT_TRUE(cancelled->mark);
    EXPECT_THAT(cancelled->moves, ElementsAre("evacuation", "newcomer"));
    EXPECT_EQ(cancelled->target_pod, "");
    EXPECT_THAT(done(), ElementsAre("PUT /apis/subresources.kubevirt.io/v1/namespaces/ns/"
                                    "virtualmachineinstances/vm1/evacuate/cancel",
                                    std::string{"DELETE "} + moves + "/evacuation",
                                    std::string{"DELETE "} + moves + "/newcomer"));
    EXPECT_THAT(transport.requests().at(2).body, HasSubstr(R"("evacuationNodeName":"n1")"));
    EXPECT_THAT(transport.requests().at(3).body, HasSubstr("of evacuation"));
}

/// Between hand-off and start nothing else reaches it.
TEST_F(MoveCallsTest, DeletesTheTargetPodOfOneThatHasNotStarted) {
    answer(200, vmi());
    answer(200, list({move("m", "Scheduled")}));
    answer(200);
    answer(200, list({move("m", "TargetReady", "2026-03-01T10:00:00Z")}));
    answer(200, vmi(R"({"migrationState":{"migrationUid":"of m","targetPod":"virt-launcher-t"}})"));
    answer(404, test::status_json(404, "NotFound"));

    const auto cancelled = cancel();

    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->target_pod, "virt-launcher-t");
    EXPECT_THAT(done(), ElementsAre(std::string{"DELETE "} + moves + "/m",
                                    "DELETE /api/v1/namespaces/ns/pods/virt-launcher-t"));
}

/// It is the VM's own launcher soon.
TEST_F(MoveCallsTest, TheTargetPodOfOneThatHasStartedMeanwhileStays) {
    const std::string waiting =
        R"({"migrationState":{"migrationUid":"of m","targetPod":"virt-launcher-t")";
    for (const auto* const more : {R"(,"startTimestamp":"2026-03-01T10:00:00Z"}})",
                                   R"(,"completed":true}})", R"(},"nodeName":"elsewhere"})"}) {
        answer(200, vmi(waiting + "}}"));
        answer(200, list({move("m", "TargetReady")}));
        answer(200);
        answer(200, list({}));
        answer(200, vmi(waiting + more));

        const auto cancelled = cancel();

        ASSERT_TRUE(cancelled);
        EXPECT_EQ(cancelled->target_pod, "") << more;
    }
    EXPECT_EQ(done().size(), 3U);
}

TEST_F(MoveCallsTest, WhereKubeVirtMakesAnotherOneEachTimeThatIsSaid) {
    answer(200, vmi());
    answer(200, list({move("m", "Pending")}));
    for (const auto* const name : {"m1", "m2", "m3"}) {
        answer(200);
        answer(200, list({move(name, "Pending")}));
    }

    const auto endless = cancel();

    ASSERT_FALSE(endless);
    EXPECT_THAT(endless.error().error.message, HasSubstr("m3 goes on"));
}

TEST_F(MoveCallsTest, NothingIsDoneInPostCopyNorWithoutAMigration) {
    answer(200, vmi(R"({"migrationState":{"migrationUid":"of m","mode":"PostCopy"}})"));
    const auto post_copy = cancel();
    ASSERT_FALSE(post_copy);
    EXPECT_THAT(post_copy.error().error.message, HasSubstr("an abort would lose it"));

    answer(200, vmi());
    answer(200, list({move("old", "Succeeded")}));
    const auto none = cancel();
    ASSERT_TRUE(none);
    EXPECT_THAT(none->moves, IsEmpty());
    EXPECT_THAT(done(), IsEmpty());
}

/// Otherwise another migration would be made in its place.
TEST_F(MoveCallsTest, WhereTheMarkCannotBeTakenAwayTheMigrationStays) {
    answer(200, vmi(R"({"evacuationNodeName":"n1"})"));
    answer(200, list({move("evacuation", "Running")}));
    answer(403, test::status_json(403, "Forbidden"));

    const auto refused = cancel();

    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().error.message, HasSubstr("HTTP 403"));
    EXPECT_EQ(done().size(), 1U);
}

TEST_F(MoveCallsTest, AVmiThatIsNotThereIsNotFound) {
    answer(404, test::status_json(404, "NotFound"));
    const auto gone = cancel();
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().error.code, Errc::not_found);
    EXPECT_EQ(transport.requests().at(0).target, vmi_path);
}

}  // namespace
}  // namespace scout::cluster
