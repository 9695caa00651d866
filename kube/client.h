// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/task.h"
#include "kube/api_error.h"
#include "kube/rate_limit.h"
#include "kube/resource.h"
#include "kube/transport.h"

namespace scout::kube {

/// One object, or one of its subresources.
struct Target {
    Resource resource;
    ObjectName object;
    std::string subresource = {};
};

struct CallOptions {
    Urgency urgency = Urgency::normal;
    /// For the call with its repetitions and its wait for the rate limit.
    std::chrono::milliseconds limit = std::chrono::seconds{30};
    bool dry_run = false;  ///< of writes but commands: the server does all but store (dryRun=All)
};

struct ApplyOptions {
    std::string manager = "virt-scout";
    bool force = false;  ///< takes fields from other managers instead of a conflict
};

/// What an object must still be, or the call is refused with 409. Empty fields ask nothing.
struct Preconditions {
    std::string uid;
    std::string resource_version;
};

struct ClientConfig {
    RateLimitConfig rate;
    std::chrono::milliseconds attempt_limit = std::chrono::seconds{15};
    unsigned attempts = 5;
    BackoffRange backoff{std::chrono::milliseconds{250}, std::chrono::seconds{10}};
    std::uint64_t seed = 0;  ///< of the jitter; one that differs in each process
};

/// Single calls to the API server: rate limit, repetition, errors that name what failed.
///
/// Bodies and answers are JSON texts. Loop thread only; transport and clock must outlive it, and it
/// must outlive its calls. Repeated, with jitter and as Retry-After asks, are 429, 500, 502, 503,
/// 504, lost connections and attempts over their limit, and only for calls that may be made twice:
/// get, merge patch, apply, delete by uid and reviews, and, as dry runs, create, update, JSON patch
/// and delete without a uid, which are made once else. Evictions and commands are made once in any
/// case. Writes ask for strict field validation: an unknown field is an error, not a loss. A name
/// or namespace that is no segment of a path is Errc::invalid, and nothing is sent.
class Client {
public:
    Client(Transport& transport, const Clock& clock, ClientConfig config);

    [[nodiscard]] Task<ApiResult<std::string>> get(Target target, CallOptions options = {});

    /// A document that is no object, by its path: "/openid/v1/jwks".
    [[nodiscard]] Task<ApiResult<std::string>> get_path(std::string path, CallOptions options = {});

    /// Answers the object as stored. 409 with reason AlreadyExists is for the caller to judge.
    [[nodiscard]] Task<ApiResult<std::string>> create(Target collection, std::string body,
                                                      CallOptions options = {});

    /// Replaces the object; with metadata.resourceVersion in the body only if nobody else wrote.
    [[nodiscard]] Task<ApiResult<std::string>> update(Target target, std::string body,
                                                      CallOptions options = {});

    /// RFC 7386.
    [[nodiscard]] Task<ApiResult<std::string>> merge_patch(Target target, std::string patch,
                                                           CallOptions options = {});

    /// RFC 6902. A `test` that does not hold comes back as 422.
    [[nodiscard]] Task<ApiResult<std::string>> json_patch(Target target, std::string patch,
                                                          CallOptions options = {});

    /// Server-side apply. A conflict is 409 with the fields and their managers.
    [[nodiscard]] Task<ApiResult<std::string>> apply(Target target, std::string body,
                                                     ApplyOptions apply, CallOptions options = {});

    /// Done as well if the object went while a lost answer was waited for.
    [[nodiscard]] Task<ApiResult<void>> remove(Target target, Preconditions preconditions,
                                               CallOptions options = {});

    /// Asks to evict the pod. 429 is an answer here (a budget, or KubeVirt's evacuation): its text
    /// is in ApiError::text, and it is not repeated, also as a dry run.
    [[nodiscard]] Task<ApiResult<void>> evict(ObjectName pod, Preconditions preconditions,
                                              CallOptions options = {});

    /// Has something done by a PUT to a subresource that is no object, as KubeVirt's are. Made
    /// once; CallOptions::dry_run does not hold it back. An answer in any form will do.
    [[nodiscard]] Task<ApiResult<void>> command(Target target, std::string body,
                                                CallOptions options = {});

    /// A question that the server answers to a POST and stores nowhere (SubjectAccessReview,
    /// TokenReview): may be repeated. Typed ones are in kube/reviews.h.
    [[nodiscard]] Task<ApiResult<std::string>> ask(Target collection, std::string body,
                                                   CallOptions options = {});

    /// Attempts beyond the first, since the start.
    [[nodiscard]] std::uint64_t repeated() const noexcept { return repeated_; }

private:
    struct Call {
        CallName name;
        HttpRequest request;
        CallOptions options;
        bool of_object = true;  ///< else of a collection, or of a path that is told as it is
        bool repeatable = false;
        bool gone_is_done = false;  ///< 404 to a repetition means that an earlier attempt did it
    };

    [[nodiscard]] Task<ApiResult<std::string>> post(Target target, std::string body,
                                                    CallOptions options, bool repeatable);
    /// Names may come from outside: one that would lead to another path is never sent.
    [[nodiscard]] static Status check_names(const Call& call);
    [[nodiscard]] Task<ApiResult<std::string>> make(Call call);
    [[nodiscard]] Task<ApiResult<std::string>> attempt(Call call, SteadyTime deadline);
    [[nodiscard]] Task<Status> pass_rate_limit(Urgency urgency, SteadyTime deadline);

    Transport& transport_;
    const Clock& clock_;
    ClientConfig config_;
    RateLimit rate_;
    std::mt19937_64 seeds_;
    std::uint64_t repeated_ = 0;
};

}  // namespace scout::kube
