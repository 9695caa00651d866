// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pod_admission.h"

#include <utility>

#include "base/logging.h"

namespace scout::aggregator {
namespace {

kube::AdmissionAnswer judged(kube::AdmissionRequest& request, std::string_view unchanged,
                             const JudgePod& judge) {
    kube::AdmissionAnswer answer{.uid = request.uid, .patch = {}, .warnings = {}};
    if (!request.group.empty() || request.kind != "Pod" || request.operation != "CREATE") {
        answer.warnings.push_back("expected a Pod that is created, found " +
                                  log_value(request.kind) + " and " + log_value(request.operation) +
                                  "; see the rules of the webhook configuration");
        return answer;
    }
    const auto pod = kube::decode_new_pod(kube::PaddedText::of(request.object));
    if (pod) {
        judge(request, *pod, answer);
    } else {
        answer.warnings.push_back(std::string{unchanged} + ": " + pod.error().message);
    }
    return answer;
}

}  // namespace

daemon::HttpAnswer answer_about_pod(std::string body, std::string_view unchanged,
                                    const JudgePod& judge, AdmissionCounters& counters) {
    auto request = kube::decode_admission_review(kube::PaddedText::of(body));
    if (!request) {
        ++counters.refused;
        return {.status = 400, .body = request.error().message + "\n"};
    }
    auto answer = judged(*request, unchanged, judge);
    ++counters.admitted;
    counters.patched += answer.patch.empty() ? 0 : 1;
    counters.warned += answer.warnings.empty() ? 0 : 1;
    // Whoever reads a warning sees no sender.
    for (auto& warning : answer.warnings) {
        warning.insert(0, "virt-scout: ");
    }
    return {.content_type = "application/json", .body = kube::admission_json(answer)};
}

}  // namespace scout::aggregator
