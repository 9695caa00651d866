// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/http_server.h"
#include "kube/reviews.h"

// What the aggregated API answers where there is no answer: Status objects of meta/v1, in the voice
// of the API server. Pure.

namespace scout::aggregator {

/// 404, 400, 403, 503, 504 or 500 by the error's code.
[[nodiscard]] daemon::HttpAnswer failure(const Error& error);
/// 401: the request is nobody's.
[[nodiscard]] daemon::HttpAnswer unauthorized(const std::string& reason);
/// 429, to be tried again in a second.
[[nodiscard]] daemon::HttpAnswer too_many_questions();
/// 403: `nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the
/// cluster scope`. The authorizer's reason may be empty.
[[nodiscard]] daemon::HttpAnswer forbidden(const std::string& user,
                                           const kube::AccessQuestion& question,
                                           const std::string& reason);

}  // namespace scout::aggregator
