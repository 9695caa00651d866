// SPDX-License-Identifier: Apache-2.0
#include "cluster/tune_calls.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "cluster/policy_body.h"
#include "cluster/tuned_policy.h"
#include "kube/decode_text.h"
#include "kube/objects/migration_policy.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;

constexpr const char* query_api = "/apis/query.virt-scout.io/v1alpha1";
/// Aggregators that serve it are of 0.3.0 or later, as those that end policies.
constexpr std::string_view served_by_those = "protection";
constexpr unsigned not_found = 404;
constexpr unsigned unavailable = 503;  ///< it is registered, and nobody is there
/// Nobody may be there, and that is tried again and again.
constexpr std::chrono::milliseconds asked_for = std::chrono::seconds{10};

tl::unexpected<kube::ApiError> refused(std::string message) {
    return tl::unexpected(kube::ApiError{.error = {Errc::refused, std::move(message)}});
}

bool lists(std::string_view discovery, std::string_view resource) {
    boost::system::error_code failed;
    const auto document = json::parse(discovery, failed);
    const auto* const resources = failed ? nullptr : document.find_pointer("/resources", failed);
    if (resources == nullptr || !resources->is_array()) {
        return false;
    }
    const auto& all = resources->get_array();
    return std::any_of(all.begin(), all.end(), [resource](const json::value& each) {
        const auto* const object = each.if_object();
        const auto* const name = object == nullptr ? nullptr : object->if_contains("name");
        return name != nullptr && name->is_string() && name->get_string() == resource;
    });
}

}  // namespace

Task<kube::ApiResult<bool>> TuneCalls::is_ended_by_itself() {
    kube::CallOptions options;
    options.limit = asked_for;
    auto answer = co_await client_.get_path(query_api, options);
    if (answer) {
        co_return lists(*answer, served_by_those);
    }
    if (answer.error().status == not_found || answer.error().status == unavailable) {
        co_return false;
    }
    co_return tl::unexpected(std::move(answer.error()));
}

Task<kube::ApiResult<void>> TuneCalls::make(TunePlan plan, WallTime end, bool dry_run) {
    json::object spec;
    if (!plan.based_on.empty()) {
        auto target = policy_target(plan.based_on);
        auto body = co_await client_.get(std::move(target));
        if (!body) {
            co_return tl::unexpected(std::move(body.error()));
        }
        const auto there = kube::decode_text(*body, &kube::decode_migration_policy);
        auto copied = policy_spec(*body);
        if (!there || !copied || there->meta.version != plan.based_on_version) {
            co_return refused("policy " + plan.based_on +
                              ", which it copies, was changed meanwhile: try again");
        }
        spec = *std::move(copied);
    }
    kube::CallOptions options;
    options.dry_run = dry_run;
    auto collection = policy_target({});
    auto body = tune_policy_body(plan.wish, end, std::move(spec));
    auto made = co_await client_.create(std::move(collection), std::move(body), options);
    co_return kube::without_body(std::move(made));
}

Task<kube::ApiResult<void>> TuneCalls::end(std::string name) {
    auto target = policy_target(name);
    auto body = co_await client_.get(target);
    if (!body) {
        co_return tl::unexpected(std::move(body.error()));
    }
    const auto policy = kube::decode_text(*body, &kube::decode_migration_policy);
    if (!policy || !is_tuned(*policy)) {
        co_return refused("policy " + name + " is none that policy tune made: it has no label " +
                          std::string{tune_label} + "=true; kubectl delete migrationpolicy " +
                          name + " removes any");
    }
    kube::Preconditions same{.uid = policy->meta.uid, .resource_version = {}};
    co_return co_await client_.remove(std::move(target), std::move(same));
}

}  // namespace scout::cluster
