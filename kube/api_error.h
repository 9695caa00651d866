// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/resource.h"
#include "kube/transport.h"

namespace scout::kube {

/// What a call was about, for messages.
struct CallName {
    std::string verb;  ///< as RBAC names it: get, list, watch, create, update, patch, delete
    Resource resource;
    ObjectName object;  ///< no name for calls on a collection
    std::string subresource;
};

/// "patch nodes n1", "create pods/eviction ns/virt-launcher-x", "list pods in namespace ns"
[[nodiscard]] std::string to_text(const CallName& call);

/// A field that server-side apply left to its owner.
struct FieldConflict {
    std::string manager;  ///< as the server names it; empty if it said it in another way
    std::string field;    ///< ".metadata.labels.kubevirt/x"
};

/// Why a call failed: our Error, and for callers that must tell answers apart what the server said.
///
/// Codes: invalid (400, 406, 413, 415, 422), refused (401, 403, 405, 409), not_found (404, 410),
/// timed_out (408, 504), unavailable (429, other 5xx), internal (anything else).
struct ApiError {
    Error error;          ///< the message names verb, kind, namespace/name, HTTP code, reason
    unsigned status = 0;  ///< HTTP code; 0 if no answer came
    std::string reason;   ///< "Conflict", "AlreadyExists", "Expired", …; may be empty
    std::string text;     ///< the server's own message, at most 2 KiB
    std::vector<FieldConflict> conflicts;
    std::optional<std::chrono::seconds> retry_after;
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

/// Nobody answered, or somebody who could not: the same may go well later.
[[nodiscard]] bool may_pass(const ApiError& failure) noexcept;

/// For an answer of 400 and above. Reads meta/v1 Status; another body is quoted in part.
[[nodiscard]] ApiError api_error(const CallName& call, const HttpHead& head, std::string_view body);
/// For a call that got no answer.
[[nodiscard]] ApiError api_error(const CallName& call, Error error);

/// Whether it went well, where what was answered does not matter.
[[nodiscard]] inline ApiResult<void> without_body(ApiResult<std::string> answer) {
    return std::move(answer).map([](const std::string& /*body*/) {});
}

/// The same without the details.
template <class T>
[[nodiscard]] Result<T> plain(ApiResult<T> result) {
    return std::move(result).map_error([](ApiError&& failure) { return std::move(failure.error); });
}

}  // namespace scout::kube
