// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/task.h"
#include "cluster/tune_plan.h"
#include "kube/api_error.h"
#include "kube/client.h"

/// Policies with an expiry that somebody makes and ends by hand, with their own rights.
namespace scout::cluster {

/// Loop thread; the client must outlive it, and it must outlive its calls.
class TuneCalls {
public:
    explicit TuneCalls(kube::Client& client) : client_(client) {}

    /// Whether aggregators of the cluster remove such a policy when its time is over: they answer
    /// by way of the API server. Errors but not_found and unavailable: it is not known.
    [[nodiscard]] Task<kube::ApiResult<bool>> is_ended_by_itself();

    /// Made once: one that may have been made though no answer came is an error too. `dry_run`: the
    /// server does all but store it. Errors beside: refused, where the policy that it copies was
    /// changed since it was planned.
    [[nodiscard]] Task<kube::ApiResult<void>> make(TunePlan plan, WallTime end, bool dry_run);

    /// Errors beside: refused, of a policy that is not tuned.
    [[nodiscard]] Task<kube::ApiResult<void>> end(std::string name);

private:
    kube::Client& client_;
};

}  // namespace scout::cluster
