// SPDX-License-Identifier: Apache-2.0
#include "aggregator/query_failures.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace scout::aggregator {
namespace {

namespace json = boost::json;

/// An HTTP code and what Kubernetes calls it.
struct Code {
    unsigned status;
    const char* reason;
};

Code code_of(Errc code) {
    switch (code) {
        case Errc::not_found:
            return {404, "NotFound"};
        case Errc::invalid:
            return {400, "BadRequest"};
        case Errc::refused:
            return {403, "Forbidden"};
        case Errc::unavailable:
            return {503, "ServiceUnavailable"};
        case Errc::timed_out:
            return {504, "Timeout"};
        case Errc::cancelled:
        case Errc::internal:
            break;
    }
    return {500, "InternalError"};
}

daemon::HttpAnswer status_answer(Code code, const std::string& message, json::object details = {}) {
    json::object status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object{}},
                        {"status", "Failure"}, {"message", message}, {"reason", code.reason}};
    if (!details.empty()) {
        status["details"] = std::move(details);
    }
    status["code"] = code.status;
    return {.status = code.status,
            .content_type = "application/json",
            .body = json::serialize(status) + "\n"};
}

}  // namespace

daemon::HttpAnswer failure(const Error& error) {
    return status_answer(code_of(error.code), error.message);
}

daemon::HttpAnswer unauthorized(const std::string& reason) {
    return status_answer({401, "Unauthorized"},
                         "virt-scout does not know whose request this is: " + reason);
}

daemon::HttpAnswer too_many_questions() {
    auto answer = status_answer({429, "TooManyRequests"},
                                "virt-scout answers too many questions already; try again later",
                                {{"retryAfterSeconds", 1}});
    answer.headers.emplace_back("Retry-After", "1");
    return answer;
}

daemon::HttpAnswer forbidden(const std::string& user, const kube::AccessQuestion& question,
                             const std::string& reason) {
    const auto& [space, name] = question.object;
    const auto& resource = question.resource;
    auto message = kube::display_name(resource) + (name.empty() ? "" : " \"" + name + "\"") +
                   " is forbidden: User \"" + user + "\" cannot " + question.verb + " resource \"" +
                   resource.plural + "\" in API group \"" + resource.group + "\" " +
                   (space.empty() ? "at the cluster scope" : "in the namespace \"" + space + "\"");
    if (!reason.empty()) {
        message += ": " + reason;
    }
    json::object details{{"group", resource.group}, {"kind", resource.plural}};
    if (!name.empty()) {
        details["name"] = name;
    }
    return status_answer({403, "Forbidden"}, message, std::move(details));
}

}  // namespace scout::aggregator
