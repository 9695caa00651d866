// SPDX-License-Identifier: Apache-2.0
#include "aggregator/query_api.h"

#include <utility>

#include "aggregator/query_failures.h"
#include "aggregator/query_paths.h"

namespace scout::aggregator {
namespace {

daemon::HttpAnswer document(std::string json) {
    return {.content_type = "application/json", .body = std::move(json)};
}

}  // namespace

/// One of the questions that are under way, until it is destroyed.
class QueryApi::Turn {
public:
    Turn(QueryApi& api, const std::string& user)
        : api_(api), place_(api.under_way_.try_emplace(user).first) {
        ++place_->second;
        ++api_.all_under_way_;
    }
    ~Turn() {
        --api_.all_under_way_;
        if (--place_->second == 0) {
            api_.under_way_.erase(place_);
        }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn(Turn&&) = delete;
    Turn& operator=(Turn&&) = delete;

    [[nodiscard]] bool is_one_too_many() const {
        return place_->second > api_.limits_.for_user || api_.all_under_way_ > api_.limits_.for_all;
    }

private:
    QueryApi& api_;
    std::map<std::string, std::size_t>::iterator place_;
};

QueryApi::QueryApi(Questions& questions, Users users, AccessReviews& rights, QueryLimits limits)
    : questions_(questions), users_(std::move(users)), rights_(rights), limits_(limits) {}

Task<daemon::HttpAnswer> QueryApi::serve(daemon::HttpRequest request) {
    auto user = users_(request);
    if (!user && user.error().code == Errc::refused) {
        ++counters_.unknown;
        co_return unauthorized(user.error().message);
    }
    if (!user) {
        // It is not known yet whom to believe, or no longer.
        auto said = failure({Errc::unavailable, user.error().message});
        count(said.status);
        co_return said;
    }
    // The API server lets only those ask for these who may discover its APIs.
    if (auto found = discovery_document(request.path)) {
        co_return document(*std::move(found));
    }
    auto question = parse_question(request.path, request.query);
    if (!question) {
        auto said = failure(question.error());
        count(said.status);
        co_return said;
    }
    const Turn turn(*this, user->user);
    if (turn.is_one_too_many()) {
        ++counters_.busy;
        co_return too_many_questions();
    }
    auto answer = co_await ask(*std::move(user), *std::move(question));
    count(answer.status);
    co_return answer;
}

void QueryApi::count(unsigned status) {
    constexpr unsigned forbidden_status = 403;
    constexpr unsigned least_failure = 500;
    if (status == forbidden_status) {
        ++counters_.forbidden;
    } else if (status < least_failure) {
        ++counters_.answered;
    } else {
        ++counters_.failed;
    }
}

Task<daemon::HttpAnswer> QueryApi::ask(kube::Subject user, Question question) {
    const auto rights = needed_rights(question);
    for (const auto& right : rights) {
        const auto may = co_await rights_.check(user, right);
        if (!may) {
            co_return may.error().code == Errc::refused
                ? forbidden(user.user, right, may.error().message)
                : failure(may.error());
        }
    }
    question.may_see_nodes = true;
    if (!is_about_nodes(question)) {
        const auto sees = co_await may(user, listing_nodes());
        if (!sees) {
            co_return failure(sees.error());
        }
        question.may_see_nodes = *sees;
    }
    if (adds_vmis(question)) {
        const auto sees = co_await may(user, listing_vmis());
        if (!sees) {
            co_return failure(sees.error());
        }
        question.may_see_vmis = *sees;
    }
    auto answer = co_await questions_.answer(std::move(question));
    co_return answer ? document(*std::move(answer)) : failure(answer.error());
}

Task<Result<bool>> QueryApi::may(kube::Subject user, kube::AccessQuestion right) {
    auto may = co_await rights_.check(std::move(user), std::move(right));
    if (!may && may.error().code != Errc::refused) {
        co_return fail(std::move(may.error()));
    }
    co_return may.has_value();
}

}  // namespace scout::aggregator
