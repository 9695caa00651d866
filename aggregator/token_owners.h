// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "base/task.h"

namespace scout::aggregator {

/// The agent that a token was given to.
struct AgentIdentity {
    std::string node;  ///< that its pod runs on
    std::string pod;   ///< "namespace/name"
};

/// Finds out whose a token is: aggregator/cluster_token_owners.h in a cluster, a fake in tests.
class TokenOwners {
public:
    TokenOwners() = default;
    virtual ~TokenOwners() = default;
    TokenOwners(const TokenOwners&) = delete;
    TokenOwners& operator=(const TokenOwners&) = delete;
    TokenOwners(TokenOwners&&) = delete;
    TokenOwners& operator=(TokenOwners&&) = delete;

    /// Errors, in words for who runs the agent: refused (with what to do), unavailable (it cannot
    /// be found out now). Loop thread.
    [[nodiscard]] virtual Task<Result<AgentIdentity>> owner_of(std::string token) = 0;
};

}  // namespace scout::aggregator
