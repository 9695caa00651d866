// SPDX-License-Identifier: Apache-2.0
// What is posted to a webhook: any bytes are a review or are refused with a reason. A patch that we
// answer can be applied, and to a pod that has it nothing is added; a policy is judged in few
// words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "cluster/first_placement.h"
#include "cluster/policy_lint.h"
#include "cluster/policy_review.h"
#include "cluster/target_term.h"
#include "kube/admission_review.h"
#include "tests/cluster/json_patch.h"

namespace {

namespace json = boost::json;
using namespace scout;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

const cluster::PlacementRules rules{
    .required = {{.level = 50, .source = cluster::DemandSource::kubevirt}},
    .preferred = {{.level = 80, .weight = 3, .source = cluster::DemandSource::scout_config}},
    .faults = {"a fault"}};
const cluster::LevelStanding standing{.counted = 2, .best = 40};

void place(kube::NewPod pod) {
    const auto first = cluster::is_first_of_host_model(pod);
    expect(first || !first.error().message.empty());
    const auto placement = cluster::first_placement(pod, rules, standing);
    if (!placement) {
        expect(!placement.error().message.empty());
        return;
    }
    json::object spec;
    if (!pod.affinity.empty()) {
        spec["affinity"] = json::parse(pod.affinity);
    }
    const json::object whole{{"spec", std::move(spec)}};
    const auto after = cluster::test::patched(whole, placement->patch);
    pod.affinity = json::serialize(after.at("spec").at("affinity"));
    const auto again = cluster::first_placement(pod, rules, standing);
    expect(again && again->patch.empty());
}

void take_pod(std::string text) {
    auto pod = kube::decode_new_pod(kube::PaddedText::of(text));
    if (pod) {
        place(std::move(*pod));
    }
}

/// A migration that is made: what it gets can be applied, and is enough; its pod is aimed.
void take_move(const std::string& text) {
    auto move = cluster::read_carried_move(text);
    if (!move) {
        expect(!move.error().message.empty());
        return;
    }
    const auto plan = cluster::plan_sentinel(*move);
    auto object = json::parse(text);
    const auto* spec = object.as_object().if_contains("spec");
    if (!plan.faults.empty() || spec == nullptr || !spec->is_object()) {
        return;
    }
    const auto after = cluster::test::patched(std::move(object), plan.patch);
    auto made = cluster::read_carried_move(json::serialize(after)).value();
    const auto again = cluster::plan_sentinel(made);
    expect(again.faults.empty() && again.patch.empty());
    made.uid = "m";
    kube::NewPod pod;
    pod.migration_uid = made.uid;
    pod.target_term = made.sentinel();
    const auto patch = cluster::aim_pod(pod, made);
    expect(patch.has_value() == made.request.wish.term.has_value());
}

/// A policy that is made: of whatever it says no more is told than somebody reads.
void take_policy(const std::string& text) {
    boost::system::error_code error;
    const auto policy = json::parse(text, error);
    if (error || !policy.is_object()) {
        return;
    }
    for (const auto mode : {cluster::PolicyLintMode::warn, cluster::PolicyLintMode::refuse}) {
        const auto review = cluster::review_policy(cluster::lint_new_policy(policy, {}), mode);
        expect(review.warnings.size() <= 9 && review.refusal.size() <= 4096);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string body(reinterpret_cast<const char*>(data), size);
    take_pod(body);
    take_move(body);
    take_policy(body);
    const auto request = kube::decode_admission_review(kube::PaddedText::of(body));
    if (!request) {
        expect(!request.error().message.empty());
        return 0;
    }
    const auto answer = kube::admission_json({.uid = request->uid,
                                              .refusal = {},
                                              .patch = request->object,
                                              .warnings = {request->name}});
    expect(json::parse(answer).at("response").at("uid").as_string() == request->uid);
    take_pod(request->object);
    take_move(request->object);
    take_policy(request->object);
    return 0;
}
