// SPDX-License-Identifier: Apache-2.0
// What is posted to a webhook: any bytes are a review or are refused with a reason. A patch that we
// answer can be applied, and to a pod that has it nothing is added.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cluster/first_placement.h"
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
const cluster::LevelStanding standing{.counted = 2, .best = 40, .best_nodes = {"a"}};

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string body(reinterpret_cast<const char*>(data), size);
    take_pod(body);
    const auto request = kube::decode_admission_review(kube::PaddedText::of(body));
    if (!request) {
        expect(!request.error().message.empty());
        return 0;
    }
    const auto answer = kube::admission_json(
        {.uid = request->uid, .patch = request->object, .warnings = {request->name}});
    expect(json::parse(answer).at("response").at("uid").as_string() == request->uid);
    take_pod(request->object);
    return 0;
}
