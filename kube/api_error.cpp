// SPDX-License-Identifier: Apache-2.0
#include "kube/api_error.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/logging.h"
#include "kube/json_lookup.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_status = std::size_t{1} << 20U;
constexpr std::size_t longest_text = 2048;
constexpr std::size_t longest_quote = 200;
constexpr std::size_t most_conflicts = 64;
constexpr std::int64_t longest_wait_s = 60;  // as of the header

Errc code_for(unsigned status) {
    switch (status) {
        case 400:
        case 406:
        case 413:
        case 415:
        case 422:
            return Errc::invalid;
        case 401:
        case 403:
        case 405:
        case 409:
            return Errc::refused;
        case 404:
        case 410:
            return Errc::not_found;
        case 408:
        case 504:
            return Errc::timed_out;
        case 429:
            return Errc::unavailable;
        default:
            return status >= 500 ? Errc::unavailable : Errc::internal;
    }
}

/// The server gives a conflict's manager nowhere but in the cause's text:
/// `conflict with "kubectl" using v1`. Another wording leaves the name empty; nothing depends on
/// it.
std::string manager_in(std::string_view text) {
    constexpr std::string_view before = "conflict with \"";
    if (!text.starts_with(before)) {
        return {};
    }
    text.remove_prefix(before.size());
    return std::string{text.substr(0, text.find('"'))};
}

void read_details(const json::object& details, ApiError& failure) {
    const auto* seconds = details.if_contains("retryAfterSeconds");
    if (seconds != nullptr && seconds->is_int64() && seconds->get_int64() > 0 &&
        !failure.retry_after) {
        failure.retry_after = std::chrono::seconds{std::min(seconds->get_int64(), longest_wait_s)};
    }
    const auto* causes = array_at(&details, "causes");
    for (std::size_t i = 0; causes != nullptr && i < causes->size(); ++i) {
        const auto* cause = (*causes)[i].if_object();
        if (cause != nullptr && text_at(*cause, "reason") == "FieldManagerConflict" &&
            failure.conflicts.size() < most_conflicts) {
            failure.conflicts.push_back({.manager = manager_in(text_at(*cause, "message")),
                                         .field = text_at(*cause, "field")});
        }
    }
}

/// False if the body is no meta/v1 Status.
bool read_status(std::string_view body, ApiError& failure) {
    if (body.size() > longest_status) {
        return false;
    }
    boost::system::error_code error;
    const auto document = json::parse(body, error);
    const auto* status = error ? nullptr : document.if_object();
    if (status == nullptr || text_at(*status, "kind") != "Status") {
        return false;
    }
    failure.reason = text_at(*status, "reason");
    failure.text = text_at(*status, "message").substr(0, longest_text);
    if (const auto* details = object_at(status, "details")) {
        read_details(*details, failure);
    }
    return true;
}

std::string whose(const CallName& call) {
    if (!call.object.name.empty()) {
        return call.object.space.empty() ? call.object.name
                                         : call.object.space + "/" + call.object.name;
    }
    return call.object.space.empty() ? std::string{} : "in namespace " + call.object.space;
}

}  // namespace

std::string to_text(const CallName& call) {
    std::string text = call.verb + " " + display_name(call.resource);
    if (!call.subresource.empty()) {
        text += "/" + call.subresource;
    }
    const auto object = whose(call);
    return object.empty() ? text : text + " " + object;
}

bool may_pass(const ApiError& failure) noexcept {
    return failure.status == 0 || failure.status == 429 || failure.status >= 500;
}

ApiError api_error(const CallName& call, const HttpHead& head, std::string_view body) {
    ApiError failure{.status = head.status, .retry_after = head.retry_after};
    std::string message = to_text(call) + ": HTTP " + std::to_string(head.status);
    if (read_status(body, failure)) {
        message += failure.reason.empty() ? "" : " " + failure.reason;
        message += failure.text.empty() ? "" : ": " + failure.text;
    } else if (!body.empty()) {
        failure.text = std::string{body.substr(0, longest_text)};
        message += ", expected a Status object, found " + log_value(body.substr(0, longest_quote));
    }
    if (head.status == 401) {
        message +=
            " (the API server does not take these credentials: expired, or of another "
            "cluster)";
    }
    failure.error = {.code = code_for(head.status), .message = std::move(message)};
    return failure;
}

ApiError api_error(const CallName& call, Error error) {
    return {.error = std::move(error).within(to_text(call))};
}

}  // namespace scout::kube
