// SPDX-License-Identifier: Apache-2.0
#include "kube/api_error.h"

#include <gmock/gmock.h>

namespace scout::kube {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

const CallName patch_node{
    .verb = "patch", .resource = resources::nodes(), .object = {.name = "n1"}};

ApiError failure(unsigned status, std::string_view body) {
    return api_error(patch_node, {.status = status}, body);
}

TEST(ApiErrorTest, NamesCallsAsPeopleDo) {
    EXPECT_EQ(to_text(patch_node), "patch nodes n1");
    EXPECT_EQ(to_text({.verb = "create",
                       .resource = resources::pods(),
                       .object = {.space = "ns", .name = "p"},
                       .subresource = "eviction"}),
              "create pods/eviction ns/p");
    EXPECT_EQ(to_text({.verb = "list", .resource = resources::kubevirts()}),
              "list kubevirts.kubevirt.io");
    EXPECT_EQ(to_text({.verb = "list", .resource = resources::pods(), .object = {.space = "ns"}}),
              "list pods in namespace ns");
}

TEST(ApiErrorTest, TellsWhatTheServerSaid) {
    const auto error = failure(
        403, R"({"kind":"Status","reason":"Forbidden","message":"nodes \"n1\" is forbidden"})");

    EXPECT_EQ(error.error.code, Errc::refused);
    EXPECT_EQ(error.error.message, "patch nodes n1: HTTP 403 Forbidden: nodes \"n1\" is forbidden");
    EXPECT_EQ(error.status, 403U);
    EXPECT_EQ(error.reason, "Forbidden");
    EXPECT_EQ(error.text, "nodes \"n1\" is forbidden");
}

TEST(ApiErrorTest, ChoosesTheCodeByWhatTheCallerDoesNext) {
    const std::pair<unsigned, Errc> codes[] = {
        {400, Errc::invalid},     {401, Errc::refused},     {403, Errc::refused},
        {404, Errc::not_found},   {405, Errc::refused},     {406, Errc::invalid},
        {408, Errc::timed_out},   {409, Errc::refused},     {410, Errc::not_found},
        {413, Errc::invalid},     {415, Errc::invalid},     {422, Errc::invalid},
        {429, Errc::unavailable}, {500, Errc::unavailable}, {502, Errc::unavailable},
        {503, Errc::unavailable}, {504, Errc::timed_out},   {302, Errc::internal},
        {418, Errc::internal}};
    for (const auto& [status, code] : codes) {
        EXPECT_EQ(failure(status, "").error.code, code) << status;
    }
}

TEST(ApiErrorTest, NamesTheManagersAndFieldsOfAConflict) {
    const auto error = failure(409, R"({
        "kind": "Status", "reason": "Conflict",
        "message": "Apply failed with 2 conflicts: …",
        "details": {"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1",
             "field": ".metadata.labels.a"},
            {"reason": "FieldManagerConflict", "message": "in another wording", "field": ".b"},
            {"reason": "Other", "message": "x", "field": ".c"}, 3]}})");

    ASSERT_EQ(error.conflicts.size(), 2U);
    EXPECT_EQ(error.conflicts[0].manager, "kubectl");
    EXPECT_EQ(error.conflicts[0].field, ".metadata.labels.a");
    EXPECT_EQ(error.conflicts[1].manager, "");
    EXPECT_EQ(error.conflicts[1].field, ".b");
    EXPECT_EQ(error.error.code, Errc::refused);
}

TEST(ApiErrorTest, FindsTheTimeToWaitInHeaderOrBody) {
    const auto* body = R"({"kind":"Status","details":{"retryAfterSeconds":5}})";
    EXPECT_EQ(failure(429, body).retry_after, 5s);
    EXPECT_EQ(api_error(patch_node, {.status = 429, .retry_after = 2s}, body).retry_after, 2s);
    EXPECT_EQ(failure(429, "{}").retry_after, std::nullopt);
    EXPECT_EQ(
        failure(429, R"({"kind":"Status","details":{"retryAfterSeconds":9223372036854775807}})")
            .retry_after,
        60s);
}

TEST(ApiErrorTest, QuotesABodyThatIsNoStatusInPart) {
    const auto error = failure(502, "<html>" + std::string(5000, 'x'));

    EXPECT_THAT(error.error.message,
                StartsWith("patch nodes n1: HTTP 502, expected a Status object, found <html>x"));
    EXPECT_LT(error.error.message.size(), 400U);
    EXPECT_EQ(error.text.size(), 2048U);
    for (const std::string body : {"", "[1]", R"({"kind":"Pod"})", "\x01\x02", R"({"kind":1})"}) {
        EXPECT_EQ(failure(500, body).reason, "") << body;
    }
}

TEST(ApiErrorTest, ExplainsUnacceptedCredentials) {
    EXPECT_THAT(failure(401, R"({"kind":"Status","message":"Unauthorized"})").error.message,
                HasSubstr("does not take these credentials"));
}

TEST(ApiErrorTest, ACallWithoutAnAnswerKeepsItsError) {
    const auto error = api_error(patch_node, Error{Errc::timed_out, "nothing came"});

    EXPECT_EQ(error.error.code, Errc::timed_out);
    EXPECT_EQ(error.error.message, "patch nodes n1: nothing came");
    EXPECT_EQ(error.status, 0U);
    EXPECT_EQ(plain(ApiResult<int>{tl::unexpected(error)}).error().message, error.error.message);
    EXPECT_EQ(plain(ApiResult<int>{3}).value(), 3);
}

}  // namespace
}  // namespace scout::kube
