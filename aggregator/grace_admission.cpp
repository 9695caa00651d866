// SPDX-License-Identifier: Apache-2.0
#include "aggregator/grace_admission.h"

#include <string>
#include <utility>

#include "cluster/launcher_grace.h"

namespace scout::aggregator {

Task<daemon::HttpAnswer> GraceAdmission::serve(daemon::HttpRequest request) {
    co_return answer_about_pod(
        std::move(request.body), "the launcher keeps its grace",
        [this](const auto& asked, const auto& pod, auto& answer) { judge(asked, pod, answer); },
        counters_);
}

void GraceAdmission::judge(const kube::AdmissionRequest& request, const kube::NewPod& pod,
                           kube::AdmissionAnswer& answer) const {
    std::string of_namespace;
    if (const auto space = namespaces_.find({}, request.space)) {
        of_namespace = space->labels.find(kube::grace_key).value_or("");
    } else if (pod.wanted_grace.empty()) {
        answer.warnings.push_back("the launcher keeps its grace: namespace " + request.space +
                                  " has not been read yet, /readyz of the aggregator tells why");
        return;
    }
    auto raise = cluster::raise_launcher_grace(pod, of_namespace);
    answer.patch = std::move(raise.patch);
    answer.warnings = std::move(raise.warnings);
}

}  // namespace scout::aggregator
