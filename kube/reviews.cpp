// SPDX-License-Identifier: Apache-2.0
#include "kube/reviews.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include "kube/json_lookup.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

Target reviews_of(std::string group, std::string plural, std::string kind) {
    return {.resource = {.group = std::move(group),
                         .version = "v1",
                         .plural = std::move(plural),
                         .kind = std::move(kind),
                         .namespaced = false}};
}

std::string review(const Target& target, json::object spec) {
    const auto& resource = target.resource;
    return json::serialize(json::object{{"apiVersion", resource.group + "/" + resource.version},
                                        {"kind", resource.kind},
                                        {"spec", std::move(spec)}});
}

json::object attributes_of(const AccessQuestion& question) {
    return {{"verb", question.verb},
            {"group", question.resource.group},
            {"version", question.resource.version},
            {"resource", question.resource.plural},
            {"subresource", question.subresource},
            {"namespace", question.object.space},
            {"name", question.object.name}};
}

json::object spec_of(const Subject& subject, const AccessQuestion& question) {
    json::object spec{{"resourceAttributes", attributes_of(question)}, {"user", subject.user}};
    spec["uid"] = subject.uid;
    spec["groups"] = json::value_from(subject.groups);
    spec["extra"] = json::value_from(subject.extra);
    return spec;
}

std::vector<std::string> texts_in(const json::array* array) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
        texts.push_back(text_in((*array)[i]));
    }
    return texts;
}

/// The status of the review; an error of kind internal if there is none.
ApiResult<json::object> status_of(const Target& target, const ApiResult<std::string>& answer) {
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    boost::system::error_code error;
    const auto document = json::parse(*answer, error);
    const auto* status = error ? nullptr : object_at(document.if_object(), "status");
    if (status == nullptr) {
        const CallName call{.verb = "create", .resource = target.resource};
        return tl::unexpected(
            api_error(call, Error{.code = Errc::internal,
                                  .message = "expected an answer with a status, found none"}));
    }
    return *status;
}

ApiResult<AccessDecision> decision_of(const Target& target, const ApiResult<std::string>& answer) {
    return status_of(target, answer).map([](const json::object& status) {
        AccessDecision decision{.allowed = flag_at(status, "allowed"),
                                .reason = text_at(status, "reason")};
        const auto fault = text_at(status, "evaluationError");
        if (!fault.empty()) {
            decision.reason += (decision.reason.empty() ? "" : "; ") + fault;
        }
        return decision;
    });
}

Subject subject_of(const json::object& user) {
    Subject subject{.user = text_at(user, "username"), .uid = text_at(user, "uid")};
    subject.groups = texts_in(array_at(&user, "groups"));
    if (const auto* extra = object_at(&user, "extra")) {
        for (const auto& [key, values] : *extra) {
            subject.extra.emplace(std::string{key.data(), key.size()}, texts_in(values.if_array()));
        }
    }
    return subject;
}

TokenOwner owner_in(const json::object& status) {
    TokenOwner owner{.authenticated = flag_at(status, "authenticated"),
                     .audiences = texts_in(array_at(&status, "audiences")),
                     .error = text_at(status, "error")};
    if (const auto* user = object_at(&status, "user")) {
        owner.subject = subject_of(*user);
    }
    return owner;
}

}  // namespace

Task<ApiResult<AccessDecision>> Reviews::may_we(AccessQuestion question, CallOptions options) {
    const auto target =
        reviews_of("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview");
    auto body = review(target, {{"resourceAttributes", attributes_of(question)}});
    const auto answer = co_await client_.ask(target, std::move(body), options);
    co_return decision_of(target, answer);
}

Task<ApiResult<AccessDecision>> Reviews::may(Subject subject, AccessQuestion question,
                                             CallOptions options) {
    const auto target =
        reviews_of("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview");
    auto body = review(target, spec_of(subject, question));
    const auto answer = co_await client_.ask(target, std::move(body), options);
    co_return decision_of(target, answer);
}

Task<ApiResult<TokenOwner>> Reviews::owner_of(std::string token, std::vector<std::string> audiences,
                                              CallOptions options) {
    const auto target = reviews_of("authentication.k8s.io", "tokenreviews", "TokenReview");
    json::object spec{{"token", token}, {"audiences", json::value_from(audiences)}};
    auto body = review(target, std::move(spec));
    const auto answer = co_await client_.ask(target, std::move(body), options);
    co_return status_of(target, answer).map(owner_in);
}

}  // namespace scout::kube
