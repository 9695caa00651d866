// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "aggregator/shared_reviews.h"
#include "aggregator/token_owners.h"
#include "base/clock.h"
#include "kube/client.h"
#include "kube/published_keys.h"
#include "kube/reviews.h"

namespace scout::aggregator {

struct TokenRules {
    std::string space;  ///< namespace of the agents' account
    std::string account = "virt-scout-agent";
    std::string audience = "virt-scout";
    /// TokenReviews at a time; further ones wait.
    std::size_t reviews = 8;
    /// Tokens whose review is remembered.
    std::size_t kept = 20'000;
};

/// Whose the tokens of a cluster's pods are (design.md §9): signature, audience, times, account and
/// node are checked here, by the keys that the cluster publishes; then the API server is asked once
/// for each token whether it is still in force, for its pod may be gone. Tokens that do not pass
/// here cost the API server nothing.
///
/// An answer takes at most 25 s. Loop thread only. Client and clock must outlive it. The client
/// needs a transport and a rate of its own: after a restart all agents come at once, and neither
/// the lease nor the labels may wait behind them.
class ClusterTokenOwners final : public TokenOwners {
public:
    ClusterTokenOwners(const asio::any_io_executor& loop, kube::Client& client, const Clock& clock,
                       TokenRules rules);

    [[nodiscard]] Task<Result<AgentIdentity>> owner_of(std::string token) override;

    /// TokenReviews since the start.
    [[nodiscard]] std::uint64_t reviews() const noexcept { return made_; }

private:
    struct Claim {
        AgentIdentity identity;
        WallTime expires{};
    };

    [[nodiscard]] Task<Result<Claim>> check_here(std::string token);
    [[nodiscard]] Status check_holder(const kube::TokenClaims& claims) const;
    [[nodiscard]] Task<Review> review(std::string token, WallTime expires);
    [[nodiscard]] Status judge(const kube::TokenOwner& owner) const;
    void tell(const Error* trouble);

    const Clock& clock_;
    TokenRules rules_;
    kube::PublishedKeys keys_;
    kube::Reviews api_;
    SharedReviews reviews_;
    std::uint64_t made_ = 0;
    bool in_trouble_ = false;
};

}  // namespace scout::aggregator
