// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/shared_reviews.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "kube/reviews.h"

namespace scout::aggregator {

struct AccessRules {
    /// How long a right that was taken away may still be used, and one that was given may not. The
    /// API server's own webhook authorizer is as slow with rights that are given, and far slower
    /// with those that are taken away.
    std::chrono::milliseconds allowed_kept = std::chrono::seconds{10};
    std::chrono::milliseconds denied_kept = std::chrono::seconds{5};
    std::chrono::milliseconds answer = std::chrono::seconds{10};
    SharedReviews::Limits limits{.at_once = 16};
};

/// Whether users may do what they ask us to do for them, by the API server's word
/// (SubjectAccessReview). Loop thread only; client and clock must outlive it.
class AccessReviews {
public:
    AccessReviews(const asio::any_io_executor& loop, kube::Client& client, const Clock& clock,
                  AccessRules rules = {});

    /// Errors: refused, with the authorizer's reason, which may be empty; unavailable if the API
    /// server does not say.
    [[nodiscard]] Task<Status> check(kube::Subject subject, kube::AccessQuestion question);

    /// Reviews since the start.
    [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

private:
    [[nodiscard]] Task<Review> review(kube::Subject subject, kube::AccessQuestion question);

    AccessRules rules_;
    kube::Reviews api_;
    SharedReviews reviews_;
    std::uint64_t made_ = 0;
};

}  // namespace scout::aggregator
