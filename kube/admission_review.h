// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/padded_text.h"

namespace scout::kube {

/// What an API server asks a webhook: the request of an admission.k8s.io/v1 AdmissionReview, as far
/// as we use it.
struct AdmissionRequest {
    std::string uid;  ///< of the question
    std::string group;
    std::string kind;
    std::string space;
    std::string name;        ///< empty if the server makes it up later
    std::string operation;   ///< CREATE, UPDATE, DELETE, CONNECT
    bool dry_run = false;    ///< nothing may be told to others either
    std::string object;      ///< JSON as it stands; empty: there is none
    std::string old_object;  ///< likewise, before it is changed or deleted
};

/// Errors: invalid: this is no such review; the message has the path of what is wrong.
[[nodiscard]] Result<AdmissionRequest> decode_admission_review(PaddedText body);

struct AdmissionAnswer {
    std::string uid;                    ///< the request's
    std::string refusal;                ///< why it is not allowed, for people; empty: it is
    std::string patch;                  ///< JSON Patch (RFC 6902); empty: none
    std::vector<std::string> warnings;  ///< for whoever made the request
};

/// What the API server passes on of a warning; the rest is cut off.
inline constexpr std::size_t longest_admission_warning = 256;

[[nodiscard]] std::string admission_json(const AdmissionAnswer& answer);

}  // namespace scout::kube
