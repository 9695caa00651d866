// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_token_owners.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/digest.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto review_limit = 10s;
/// Another API server may not know yet of a pod that one has just made.
constexpr auto refusal_kept = 10s;
/// The kubelet's tokens live an hour.
constexpr auto longest_kept = 24h;
constexpr std::size_t longest_reason = 300;

std::string account_name(const std::string& space, const std::string& name) {
    return space + "/" + name;
}

}  // namespace

ClusterTokenOwners::ClusterTokenOwners(const asio::any_io_executor& loop, kube::Client& client,
                                       const Clock& clock, TokenRules rules)
    : clock_(clock),
      rules_(std::move(rules)),
      keys_(client, clock),
      api_(client),
      reviews_(loop, clock, {.at_once = rules_.reviews, .kept = rules_.kept}) {}

Task<Result<AgentIdentity>> ClusterTokenOwners::owner_of(std::string token) {
    auto claim = co_await check_here(token);
    if (!claim) {
        if (claim.error().code == Errc::unavailable) {
            tell(&claim.error());
        }
        co_return fail(std::move(claim.error()).within("token"));
    }
    auto digest = sha256_hex(token);
    std::function<Task<Review>()> ask = [this, token = std::move(token), expires = claim->expires] {
        return review(token, expires);
    };
    auto confirmed = co_await reviews_.outcome(std::move(digest), std::move(ask));
    if (!confirmed) {
        co_return fail(std::move(confirmed.error()).within("token"));
    }
    co_return std::move(claim->identity);
}

Task<Result<ClusterTokenOwners::Claim>> ClusterTokenOwners::check_here(std::string token) {
    auto parsed = kube::parse_token(token);
    if (!parsed) {
        co_return fail(std::move(parsed.error()));
    }
    if (auto checked = kube::check_claims(parsed->claims, rules_.audience, clock_.wall());
        !checked) {
        co_return fail(std::move(checked.error()));
    }
    if (auto checked = check_holder(parsed->claims); !checked) {
        co_return fail(std::move(checked.error()));
    }
    auto keys = co_await keys_.with(parsed->key_id);
    if (!keys) {
        co_return fail(Errc::unavailable, "it cannot be checked: " + keys.error().message);
    }
    if (auto verified = (*keys)->verify(*parsed); !verified) {
        co_return fail(std::move(verified.error()));
    }
    Claim claim{.identity = {.node = parsed->claims.node,
                             .pod = parsed->claims.space + "/" + parsed->claims.pod},
                .expires = parsed->claims.expires};
    co_return claim;
}

Status ClusterTokenOwners::check_holder(const kube::TokenClaims& claims) const {
    if (claims.space != rules_.space || claims.account != rules_.account) {
        return fail(Errc::refused,
                    "expected one of account " + account_name(rules_.space, rules_.account) +
                        ", found one of " + log_value(account_name(claims.space, claims.account)) +
                        ": run the agent under that account");
    }
    if (claims.pod.empty() || claims.node.empty()) {
        return fail(Errc::refused,
                    "expected one that is bound to a pod on a node, found " +
                        std::string{claims.pod.empty() ? "no pod" : "no node"} +
                        " in it: project it into the agent's pod (serviceAccountToken), on "
                        "Kubernetes 1.30 or newer");
    }
    return {};
}

Task<Review> ClusterTokenOwners::review(std::string token, WallTime expires) {
    ++made_;
    std::vector<std::string> audiences{rules_.audience};
    const kube::CallOptions options{.limit = review_limit};
    const auto owner = co_await api_.owner_of(std::move(token), std::move(audiences), options);
    if (!owner) {
        const auto trouble =
            fail(Errc::unavailable, "it cannot be checked: " + owner.error().error.message);
        tell(&trouble.value());
        co_return Review{.outcome = trouble};
    }
    tell(nullptr);
    // Counted by the clock that does not jump; check_here() holds it against the wall clock.
    Review judged{.outcome = judge(*owner),
                  .kept = std::chrono::floor<std::chrono::milliseconds>(expires - clock_.wall())};
    judged.kept = std::min<std::chrono::milliseconds>(
        judged.kept, judged.outcome ? std::chrono::milliseconds{longest_kept} : refusal_kept);
    co_return judged;
}

/// The claims were checked already; what the API server makes of the token must agree.
Status ClusterTokenOwners::judge(const kube::TokenOwner& owner) const {
    const auto user = "system:serviceaccount:" + rules_.space + ":" + rules_.account;
    const auto& audiences = owner.audiences;
    const bool for_us =
        std::find(audiences.begin(), audiences.end(), rules_.audience) != audiences.end();
    if (owner.authenticated && for_us && owner.subject.user == user) {
        return {};
    }
    const auto reason = owner.error.empty() ? std::string{"it gives no reason"}
                                            : log_value(owner.error.substr(0, longest_reason));
    return fail(Errc::refused,
                "the API server does not take it (" + reason +
                    "): its pod or account may be gone; if the agent's pod is there, delete it, "
                    "and its successor gets another token");
}

/// Once, and not for each agent; null: all is well.
void ClusterTokenOwners::tell(const Error* trouble) {
    if (trouble != nullptr && !in_trouble_) {
        spdlog::warn("tokens of agents cannot be checked reason={}", log_value(trouble->message));
    } else if (trouble == nullptr && in_trouble_) {
        spdlog::info("tokens of agents can be checked again");
    }
    in_trouble_ = trouble != nullptr;
}

}  // namespace scout::aggregator
