// SPDX-License-Identifier: Apache-2.0
#include "kube/admission_review.h"

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "base/base64.h"
#include "kube/objects/new_pod.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

Result<AdmissionRequest> decode(std::string body) {
    return decode_admission_review(PaddedText::of(body));
}

std::string refusal(std::string body) {
    const auto request = decode(std::move(body));
    return request ? "taken" : request.error().message;
}

Result<NewPod> decode_pod(std::string text) {
    return decode_new_pod(PaddedText::of(text));
}

TEST(AdmissionReviewTest, ReadsTheRequest) {
    const auto request = decode(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
        "request":{"uid":"705ab4f5","kind":{"group":"","version":"v1","kind":"Pod"},
          "resource":{"group":"","version":"v1","resource":"pods"},"name":"p","namespace":"ns",
          "operation":"CREATE","userInfo":{"username":"admin","groups":["a"]},
          "object":{"metadata":{"name":"p"}, "spec":{"a":[1,{"b":"}"}]}},
          "oldObject":{"a":1},"dryRun":true,"options":{"kind":"CreateOptions"}}})");

    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->uid, "705ab4f5");
    EXPECT_EQ(request->group, "");
    EXPECT_EQ(request->kind, "Pod");
    EXPECT_EQ(request->space, "ns");
    EXPECT_EQ(request->name, "p");
    EXPECT_EQ(request->operation, "CREATE");
    EXPECT_TRUE(request->dry_run);
    EXPECT_EQ(request->object, R"({"metadata":{"name":"p"}, "spec":{"a":[1,{"b":"}"}]}})");
    EXPECT_EQ(request->old_object, R"({"a":1})");
}

TEST(AdmissionReviewTest, AbsentAndNullAreTheSame) {
    const auto request = decode(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
        "request":{"uid":"u","object":null,"oldObject":null,"kind":null}})");

    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->object, "");
    EXPECT_EQ(request->old_object, "");
    EXPECT_EQ(request->kind, "");
    EXPECT_FALSE(request->dry_run);
}

TEST(AdmissionReviewTest, RefusesWhatIsNoReview) {
    const std::string head = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1")";
    EXPECT_THAT(refusal(""), HasSubstr("expected a JSON object"));
    EXPECT_THAT(refusal("[]"), HasSubstr("expected a JSON object"));
    EXPECT_THAT(refusal("{}"), HasSubstr("expected kind AdmissionReview of admission.k8s.io/v1"));
    EXPECT_THAT(refusal(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1",
                            "request":{"uid":"u"}})"),
                HasSubstr("found kind AdmissionReview of admission.k8s.io/v1beta1"));
    EXPECT_THAT(refusal(head + "}"), HasSubstr("request.uid: expected a text, found nothing"));
    EXPECT_THAT(refusal(head + R"(,"request":{"uid":7}})"),
                HasSubstr("request.uid: expected a string, found a number"));
    EXPECT_THAT(refusal(head + R"(,"request":{"uid":"u","object":"pod"}})"),
                HasSubstr("request.object: expected an object, found a string"));
    EXPECT_THAT(refusal(head + R"(,"request":{"uid":"u","object":{"a")"),
                HasSubstr("expected a JSON object"));
    EXPECT_THAT(refusal(head + R"(,"request":)" + std::string(100'000, '[')),
                HasSubstr("expected"));
}

TEST(AdmissionReviewTest, AnswersWithAPatchAndWarnings) {
    const auto answer =
        json::parse(admission_json({.uid = "u", .patch = "[1]", .warnings = {"careful"}}));

    EXPECT_EQ(answer, json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
        "response":{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":")" +
                                  base64_encode("[1]") + R"(","warnings":["careful"]}})"));
}

TEST(AdmissionReviewTest, AnswersWithoutAPatchIfNothingChanges) {
    EXPECT_EQ(json::parse(admission_json({.uid = "u", .patch = {}, .warnings = {}})).at("response"),
              json::parse(R"({"uid":"u","allowed":true})"));
}

TEST(AdmissionReviewTest, CutsLongWarningsBetweenCharacters) {
    const auto answer = json::parse(admission_json(
        {.uid = "u", .patch = {}, .warnings = {std::string(255, 'a') + "\xc3\xa4"}}));

    EXPECT_EQ(answer.at("response").at("warnings").at(0).as_string(), std::string(255, 'a'));
}

TEST(NewPodDecoderTest, ReadsWhatPlacementDependsOn) {
    const auto pod = decode_pod(R"({"metadata":{"generateName":"virt-launcher-a-",
        "labels":{"kubevirt.io":"virt-launcher","kubevirt.io/created-by":"v1",
                  "kubevirt.io/migrationJobUID":""},
        "annotations":{"kubevirt.io/domain":"a"}},
      "spec":{"nodeSelector":{"kubernetes.io/arch":"amd64"},"containers":[],
              "affinity":{"nodeAffinity": {}}}})");

    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->role, "virt-launcher");
    EXPECT_EQ(pod->migration_uid, "");
    EXPECT_EQ(pod->vmi_name, "a");
    EXPECT_EQ(pod->vmi_uid, "v1");
    EXPECT_EQ(pod->arch, "amd64");
    EXPECT_EQ(pod->affinity, R"({"nodeAffinity": {}})");
}

TEST(NewPodDecoderTest, EverythingMayBeAbsent) {
    for (const char* text : {"{}", R"({"metadata":null,"spec":null})",
                             R"({"metadata":{"labels":null},"spec":{"affinity":null}})"}) {
        const auto pod = decode_pod(text);
        ASSERT_TRUE(pod) << text;
        EXPECT_EQ(pod->role, "") << text;
        EXPECT_FALSE(pod->migration_uid) << text;
        EXPECT_EQ(pod->affinity, "") << text;
    }
    EXPECT_EQ(decode_pod(R"({"spec":{"affinity":"x"}})").error().message,
              "spec.affinity: expected an object, found a string");
}

}  // namespace
}  // namespace scout::kube
