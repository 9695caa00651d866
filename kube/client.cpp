// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "kube/query.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::string_view json_type = "application/json";

/// The parameters that every write has.
Query write_query(const CallOptions& options) {
    Query query;
    query.add("fieldValidation", "Strict").add("dryRun", options.dry_run ? "All" : "");
    return query;
}

CallName name_of(std::string verb, const Target& target) {
    return {.verb = std::move(verb),
            .resource = target.resource,
            .object = target.object,
            .subresource = target.subresource};
}

std::string path_of(const Target& target) {
    return object_path(target.resource, target.object, target.subresource);
}

/// Worth another attempt, if the call may be made twice at all.
bool is_worth_another(const ApiError& failure) {
    switch (failure.status) {
        case 0:
            return failure.error.code == Errc::unavailable || failure.error.code == Errc::timed_out;
        case 429:
        case 500:
        case 502:
        case 503:
        case 504:
            return true;
        default:
            return false;
    }
}

json::object preconditions_of(const Preconditions& preconditions) {
    json::object object;
    if (!preconditions.uid.empty()) {
        object["uid"] = preconditions.uid;
    }
    if (!preconditions.resource_version.empty()) {
        object["resourceVersion"] = preconditions.resource_version;
    }
    return object;
}

json::object delete_options(const Preconditions& preconditions, const CallOptions& options) {
    json::object object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
    if (auto demands = preconditions_of(preconditions); !demands.empty()) {
        object["preconditions"] = std::move(demands);
    }
    if (options.dry_run) {
        object["dryRun"] = json::array{"All"};
    }
    return object;
}

json::object eviction_of(const ObjectName& pod, const Preconditions& preconditions) {
    json::object eviction{{"apiVersion", "policy/v1"},
                          {"kind", "Eviction"},
                          {"metadata", {{"name", pod.name}, {"namespace", pod.space}}}};
    if (auto demands = preconditions_of(preconditions); !demands.empty()) {
        eviction["deleteOptions"] = {{"preconditions", std::move(demands)}};
    }
    return eviction;
}

Task<bool> wait(milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    const auto [error] = co_await timer.async_wait(as_result);
    co_return !error;
}

}  // namespace

Client::Client(Transport& transport, const Clock& clock, ClientConfig config)
    : transport_(transport),
      clock_(clock),
      config_(config),
      rate_(config.rate, clock.steady()),
      seeds_(config.seed) {}

Task<ApiResult<std::string>> Client::get(Target target, CallOptions options) {
    Call call{.name = name_of("get", target),
              .request = {.target = path_of(target)},
              .options = options,
              .repeatable = true};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::get_path(std::string path, CallOptions options) {
    Call call{.name = {.verb = "get", .resource = {.plural = path}},
              .request = {.target = std::move(path), .accept = "*/*"},
              .options = options,
              .of_object = false,
              .repeatable = true};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::create(Target collection, std::string body,
                                            CallOptions options) {
    return post(std::move(collection), std::move(body), options, options.dry_run);
}

Task<ApiResult<std::string>> Client::ask(Target collection, std::string body, CallOptions options) {
    return post(std::move(collection), std::move(body), options, true);
}

Task<ApiResult<std::string>> Client::post(Target target, std::string body, CallOptions options,
                                          bool repeatable) {
    const bool of_object = !target.object.name.empty() || !target.subresource.empty();
    const auto path =
        of_object ? path_of(target) : collection_path(target.resource, target.object.space);
    Call call{.name = name_of("create", target),
              .request = {.method = "POST",
                          .target = path + write_query(options).text(),
                          .content_type = std::string{json_type},
                          .body = std::move(body)},
              .options = options,
              .of_object = of_object,
              .repeatable = repeatable};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::update(Target target, std::string body, CallOptions options) {
    Call call{.name = name_of("update", target),
              .request = {.method = "PUT",
                          .target = path_of(target) + write_query(options).text(),
                          .content_type = std::string{json_type},
                          .body = std::move(body)},
              .options = options,
              .repeatable = options.dry_run};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::merge_patch(Target target, std::string patch,
                                                 CallOptions options) {
    Call call{.name = name_of("patch", target),
              .request = {.method = "PATCH",
                          .target = path_of(target) + write_query(options).text(),
                          .content_type = "application/merge-patch+json",
                          .body = std::move(patch)},
              .options = options,
              .repeatable = true};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::json_patch(Target target, std::string patch,
                                                CallOptions options) {
    Call call{.name = name_of("patch", target),
              .request = {.method = "PATCH",
                          .target = path_of(target) + write_query(options).text(),
                          .content_type = "application/json-patch+json",
                          .body = std::move(patch)},
              .options = options,
              .repeatable = options.dry_run};
    return make(std::move(call));
}

Task<ApiResult<std::string>> Client::apply(Target target, std::string body, ApplyOptions apply,
                                           CallOptions options) {
    auto query = write_query(options);
    query.add("fieldManager", apply.manager).add("force", apply.force ? "true" : "");
    // JSON is YAML, and every server since 1.22 takes this type; the JSON one came with 1.31.
    Call call{.name = name_of("patch", target),
              .request = {.method = "PATCH",
                          .target = path_of(target) + query.text(),
                          .content_type = "application/apply-patch+yaml",
                          .body = std::move(body)},
              .options = options,
              .repeatable = true};
    return make(std::move(call));
}

Task<ApiResult<void>> Client::remove(Target target, Preconditions preconditions,
                                     CallOptions options) {
    Call call{.name = name_of("delete", target),
              .request = {.method = "DELETE",
                          .target = path_of(target),
                          .content_type = std::string{json_type},
                          .body = json::serialize(delete_options(preconditions, options))},
              .options = options,
              .repeatable = options.dry_run || !preconditions.uid.empty(),
              .gone_is_done = true};
    auto answer = co_await make(std::move(call));
    co_return without_body(std::move(answer));
}

Task<ApiResult<void>> Client::evict(ObjectName pod, Preconditions preconditions,
                                    CallOptions options) {
    auto body = json::serialize(eviction_of(pod, preconditions));
    Target target{
        .resource = resources::pods(), .object = std::move(pod), .subresource = "eviction"};
    auto answer = co_await post(std::move(target), std::move(body), options, false);
    co_return without_body(std::move(answer));
}

Task<ApiResult<void>> Client::command(Target target, std::string body, CallOptions options) {
    // KubeVirt's API server refuses to answer in JSON where it has nothing to say.
    Call call{.name = name_of("update", target),
              .request = {.method = "PUT",
                          .target = path_of(target),
                          .content_type = std::string{json_type},
                          .accept = "*/*",
                          .body = std::move(body)},
              .options = options};
    auto answer = co_await make(std::move(call));
    co_return without_body(std::move(answer));
}

Task<Status> Client::pass_rate_limit(Urgency urgency, SteadyTime deadline) {
    const auto now = clock_.steady();
    const auto turn = rate_.reserve(urgency, now, std::chrono::floor<milliseconds>(deadline - now));
    if (!turn) {
        co_return fail(turn.error());
    }
    if (*turn > milliseconds{0}) {
        const bool waited = co_await wait(*turn);
        if (!waited) {
            co_return fail(Errc::cancelled, "gave up waiting for the client-side rate limit");
        }
    }
    co_return Status{};
}

Status Client::check_names(const Call& call) {
    const auto& [space, name] = call.name.object;
    const bool needs_space = call.name.resource.namespaced && (call.of_object || !space.empty());
    const auto* wrong = call.of_object && !is_path_segment(name) ? &name
                        : needs_space && !is_path_segment(space) ? &space
                                                                 : nullptr;
    if (wrong == nullptr) {
        return {};
    }
    return fail(Errc::invalid,
                std::string{"expected a "} + (wrong == &name ? "name" : "namespace") +
                    " of an object, not empty, without '/' and '%', and neither '.' nor '..', "
                    "found " +
                    log_value(*wrong) + "; nothing was sent");
}

Task<ApiResult<std::string>> Client::make(Call call) {
    if (auto named = check_names(call); !named) {
        co_return tl::unexpected(api_error(call.name, std::move(named.error())));
    }
    const auto deadline = clock_.steady() + call.options.limit;
    Backoff backoff(seeds_(), config_.backoff);
    for (unsigned made = 1;; ++made) {
        auto turn = co_await pass_rate_limit(call.options.urgency, deadline);
        if (!turn) {
            co_return tl::unexpected(api_error(call.name, std::move(turn.error())));
        }
        auto answer = co_await attempt(call, deadline);
        if (answer) {
            co_return answer;
        }
        const auto& failure = answer.error();
        if (made > 1 && call.gone_is_done && failure.status == 404) {
            co_return std::string{};
        }
        const auto pause = std::max<milliseconds>(backoff.next(), failure.retry_after.value_or(0s));
        if (!call.repeatable || !is_worth_another(failure) || made >= config_.attempts ||
            clock_.steady() + pause >= deadline) {
            co_return answer;
        }
        const bool waited = co_await wait(pause);
        if (!waited) {
            co_return answer;
        }
        ++repeated_;
    }
}

Task<ApiResult<std::string>> Client::attempt(Call call, SteadyTime deadline) {
    const auto left = std::chrono::floor<milliseconds>(deadline - clock_.steady());
    auto response =
        co_await transport_.send(std::move(call.request), std::min(config_.attempt_limit, left));
    if (!response) {
        co_return tl::unexpected(api_error(call.name, std::move(response.error())));
    }
    for (const auto& warning : response->head.warnings) {
        spdlog::debug("the API server warns call={} text={}", log_value(to_text(call.name)),
                      log_value(warning));
    }
    if (response->head.status >= 300) {
        co_return tl::unexpected(api_error(call.name, response->head, response->body));
    }
    co_return std::move(response->body);
}

}  // namespace scout::kube
