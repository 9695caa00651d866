// SPDX-License-Identifier: Apache-2.0
#include "aggregator/pod_admission.h"

#include <utility>

#include "base/logging.h"

namespace scout::aggregator {
namespace {

void judge_as_pod(kube::AdmissionRequest& request, std::string_view unchanged,
                  const JudgePod& judge, kube::AdmissionAnswer& answer) {
    if (auto wrong = wrong_question(request, "", "Pod"); !wrong.empty()) {
        answer.warnings.push_back(std::move(wrong));
        return;
    }
    const auto pod = kube::decode_new_pod(kube::PaddedText::of(request.object));
    if (pod) {
        judge(request, *pod, answer);
    } else {
        answer.warnings.push_back(std::string{unchanged} + ": " + pod.error().message);
    }
}

}  // namespace

std::string wrong_question(const kube::AdmissionRequest& request, std::string_view group,
                           std::string_view kind, Asked asked) {
    const bool or_changed = asked == Asked::created_or_changed;
    const bool is_operation =
        request.operation == "CREATE" || (or_changed && request.operation == "UPDATE");
    if (request.group == group && request.kind == kind && is_operation) {
        return {};
    }
    return "expected a " + std::string{kind} + " that is created" +
           (or_changed ? " or changed" : "") + ", found " + log_value(request.kind) + " and " +
           log_value(request.operation) + "; see the rules of the webhook configuration";
}

daemon::HttpAnswer no_review(const Error& why, AdmissionCounters& counters) {
    ++counters.refused;
    return {.status = 400, .body = why.message + "\n"};
}

daemon::HttpAnswer admission_answer(kube::AdmissionAnswer answer, AdmissionCounters& counters) {
    ++counters.admitted;
    counters.patched += answer.patch.empty() ? 0 : 1;
    counters.warned += answer.warnings.empty() ? 0 : 1;
    counters.denied += answer.refusal.empty() ? 0 : 1;
    // Whoever reads a warning sees no sender.
    for (auto& warning : answer.warnings) {
        warning.insert(0, "virt-scout: ");
    }
    return {.content_type = "application/json", .body = kube::admission_json(answer)};
}

daemon::HttpAnswer answer_about(std::string body, const Judge& judge, AdmissionCounters& counters) {
    auto request = kube::decode_admission_review(kube::PaddedText::of(body));
    if (!request) {
        return no_review(request.error(), counters);
    }
    kube::AdmissionAnswer answer;
    answer.uid = request->uid;
    judge(*request, answer);
    return admission_answer(std::move(answer), counters);
}

daemon::HttpAnswer answer_about_pod(std::string body, std::string_view unchanged,
                                    const JudgePod& judge, AdmissionCounters& counters) {
    return answer_about(
        std::move(body),
        [unchanged, &judge](auto& request, auto& answer) {
            judge_as_pod(request, unchanged, judge, answer);
        },
        counters);
}

}  // namespace scout::aggregator
