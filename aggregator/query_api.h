// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "aggregator/access_reviews.h"
#include "aggregator/questions.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/http_server.h"
#include "kube/reviews.h"

namespace scout::aggregator {

struct QueryLimits {
    std::size_t for_user = 4;  ///< questions of one user at a time
    std::size_t for_all = 16;  ///< each holds the nodes of its answer
};

struct QueryCounters {
    std::uint64_t answered = 0;  ///< the user was told what they asked, or what is wrong with it
    std::uint64_t unknown = 0;   ///< came past the API server
    std::uint64_t forbidden = 0;
    std::uint64_t busy = 0;    ///< too many at a time
    std::uint64_t failed = 0;  ///< 5xx: of the API server or of ours
};

/// The aggregated API query.virt-scout.io: who asks, by the API server's front proxy; whether they
/// may, by the API server's word; then the question. All errors are Status objects. Any replica
/// answers, whoever leads.
///
/// Loop thread only. What the constructor takes by reference must outlive it.
class QueryApi {
public:
    /// Whose request it is; as FrontProxy::user_of().
    using Users = std::function<Result<kube::Subject>(const daemon::HttpRequest&)>;

    QueryApi(Questions& questions, Users users, AccessReviews& rights, QueryLimits limits = {});

    /// Of a GET or HEAD below query_root.
    [[nodiscard]] Task<daemon::HttpAnswer> serve(daemon::HttpRequest request);

    [[nodiscard]] const QueryCounters& counters() const noexcept { return counters_; }

private:
    class Turn;

    [[nodiscard]] Task<daemon::HttpAnswer> ask(kube::Subject user, Question question);
    [[nodiscard]] Task<Result<bool>> may(kube::Subject user, kube::AccessQuestion right);
    void count(unsigned status);

    Questions& questions_;
    Users users_;
    AccessReviews& rights_;
    QueryLimits limits_;
    std::map<std::string, std::size_t> under_way_;  ///< by user
    std::size_t all_under_way_ = 0;
    QueryCounters counters_;
};

}  // namespace scout::aggregator
