// SPDX-License-Identifier: Apache-2.0
#include "aggregator/policy_admission.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "cluster/manifest_values.h"
#include "cluster/move_policy.h"
#include "cluster/policy_lint.h"
#include "cluster/policy_review.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

/// A policy has some KiB. It is judged on the loop, which holds nobody up for so much.
constexpr std::size_t most_bytes = std::size_t{128} << 10U;

Result<json::value> read(std::string_view text) {
    if (text.size() > most_bytes) {
        return fail(Errc::invalid, "expected at most " + std::to_string(most_bytes) +
                                       " bytes, found " + std::to_string(text.size()));
    }
    boost::system::error_code error;
    auto object = json::parse(text, error);
    if (error || !object.is_object()) {
        return fail(Errc::invalid, "expected a map as JSON, found " +
                                       (error ? error.message() : cluster::found(object)));
    }
    return object;
}

const json::value* member(const json::value* value, std::string_view name) {
    return value == nullptr ? nullptr : cluster::member(*value, name);
}

/// That of one move, which is gone after it.
bool is_ours(const json::value& object) {
    const auto* metadata = member(&object, "metadata");
    kube::MigrationPolicy policy;
    policy.meta.name = cluster::text_of(member(metadata, "name"));
    policy.move_of =
        cluster::text_of(member(member(metadata, "labels"), cluster::move_policy_label));
    return cluster::is_move_policy(policy);
}

bool says_the_same(const json::value& object, const std::string& before) {
    const auto old = before.empty() ? fail(Errc::not_found, "created") : read(before);
    const auto* said = old ? member(&*old, "spec") : nullptr;
    const auto* says = member(&object, "spec");
    return said != nullptr && says != nullptr && *said == *says;
}

}  // namespace

Task<daemon::HttpAnswer> PolicyAdmission::serve(daemon::HttpRequest request) {
    co_return answer_about(
        std::move(request.body), [this](const auto& asked, auto& answer) { judge(asked, answer); },
        counters_);
}

void PolicyAdmission::judge(const kube::AdmissionRequest& request,
                            kube::AdmissionAnswer& answer) const {
    if (auto wrong = wrong_question(request, "migrations.kubevirt.io", "MigrationPolicy",
                                    Asked::created_or_changed);
        !wrong.empty()) {
        answer.warnings.push_back(std::move(wrong));
        return;
    }
    const auto mode = settings_.current().policy_lint;
    if (mode == cluster::PolicyLintMode::off) {
        return;
    }
    const auto object = read(request.object);
    if (!object) {
        answer.warnings.push_back("the policy is not looked at: " + object.error().message);
        return;
    }
    if (is_ours(*object) || says_the_same(*object, request.old_object)) {
        return;
    }
    std::vector<const kube::MigrationPolicy*> others;
    policies_.each([&others](const auto& policy) { others.push_back(policy.get()); });
    auto review = cluster::review_policy(cluster::lint_new_policy(*object, others), mode);
    answer.refusal = std::move(review.refusal);
    answer.warnings = std::move(review.warnings);
    if (!policies_.synced()) {
        answer.warnings.emplace_back(
            "the policy is not compared with others: these have not been read yet, /readyz of the "
            "aggregator tells why");
    }
}

}  // namespace scout::aggregator
