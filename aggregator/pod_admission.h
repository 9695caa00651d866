// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/http_server.h"
#include "kube/admission_review.h"
#include "kube/objects/new_pod.h"

namespace scout::aggregator {

struct AdmissionCounters {
    std::uint64_t admitted = 0;  ///< requests that were answered
    std::uint64_t patched = 0;
    std::uint64_t warned = 0;
    std::uint64_t denied = 0;   ///< objects that are not to be made; pods never
    std::uint64_t refused = 0;  ///< bodies that are no request
};

/// Of an AdmissionReview that cannot be read: 400 with a sentence.
[[nodiscard]] daemon::HttpAnswer no_review(const Error& why, AdmissionCounters& counters);
/// Counts the answer and writes it as AdmissionReview.
[[nodiscard]] daemon::HttpAnswer admission_answer(kube::AdmissionAnswer answer,
                                                  AdmissionCounters& counters);

/// At which operations a webhook is asked.
enum class Asked : std::uint8_t { created, created_or_changed };

/// What is asked about is not what the webhook is for: a warning; empty: it is.
[[nodiscard]] std::string wrong_question(const kube::AdmissionRequest& request,
                                         std::string_view group, std::string_view kind,
                                         Asked asked = Asked::created);

/// Puts patch and warnings into the answer.
using JudgePod =
    std::function<void(const kube::AdmissionRequest&, const kube::NewPod&, kube::AdmissionAnswer&)>;

/// Puts patch, warnings and refusal into the answer; the object's text may be used up.
using Judge = std::function<void(kube::AdmissionRequest&, kube::AdmissionAnswer&)>;

/// What every webhook of ours has in common: the body of a POST is read, what it asks about judged,
/// and the AdmissionReview written; 400 with a sentence for what is none.
[[nodiscard]] daemon::HttpAnswer answer_about(std::string body, const Judge& judge,
                                              AdmissionCounters& counters);

/// The same of pods that are created. One that cannot be read goes on unchanged, with a warning
/// that begins with `unchanged`.
[[nodiscard]] daemon::HttpAnswer answer_about_pod(std::string body, std::string_view unchanged,
                                                  const JudgePod& judge,
                                                  AdmissionCounters& counters);

}  // namespace scout::aggregator
