// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/http_server.h"
#include "kube/admission_review.h"
#include "kube/objects/new_pod.h"

namespace scout::aggregator {

struct AdmissionCounters {
    std::uint64_t admitted = 0;  ///< requests that were answered; none is ever denied
    std::uint64_t patched = 0;
    std::uint64_t warned = 0;
    std::uint64_t refused = 0;  ///< bodies that are no request
};

/// Puts patch and warnings into the answer.
using JudgePod =
    std::function<void(const kube::AdmissionRequest&, const kube::NewPod&, kube::AdmissionAnswer&)>;

/// What every webhook of ours for pods that are created has in common: the body of a POST is read,
/// the pod judged, and the AdmissionReview written; 400 with a sentence for what is none. A pod
/// that cannot be read goes on unchanged, with a warning that begins with `unchanged`.
[[nodiscard]] daemon::HttpAnswer answer_about_pod(std::string body, std::string_view unchanged,
                                                  const JudgePod& judge,
                                                  AdmissionCounters& counters);

}  // namespace scout::aggregator
