// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_token_owners.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "base/digest.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 10s;
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

/// Whoever comes with the same token meanwhile waits for this one.
struct ClusterTokenOwners::Review {
    explicit Review(const asio::any_io_executor& loop) : ended(loop, SteadyTime::max()) {}

    asio::steady_timer ended;
    Status outcome = fail(Errc::unavailable, "its check was given up");
};

/// Puts a review among those under way, and tells its end however it ends.
class ClusterTokenOwners::UnderWay {
public:
    UnderWay(ClusterTokenOwners& owners, std::string digest)
        : owners_(owners),
          place_(
              owners.under_way_.emplace(std::move(digest), std::make_shared<Review>(owners.loop_))
                  .first) {}
    ~UnderWay() {
        place_->second->ended.cancel();
        owners_.under_way_.erase(place_);
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    UnderWay(UnderWay&&) = delete;
    UnderWay& operator=(UnderWay&&) = delete;

    void end(const Status& outcome) { place_->second->outcome = outcome; }
    [[nodiscard]] const std::string& digest() const noexcept { return place_->first; }

private:
    ClusterTokenOwners& owners_;
    std::map<std::string, std::shared_ptr<Review>>::iterator place_;
};

ClusterTokenOwners::ClusterTokenOwners(const asio::any_io_executor& loop, kube::Client& client,
                                       const Clock& clock, TokenRules rules)
    : clock_(clock),
      rules_(std::move(rules)),
      keys_(client, clock),
      api_(client),
      places_(std::make_shared<Places>(loop, rules_.reviews)),
      reviewed_(rules_.kept),
      loop_(loop) {}

Task<Result<AgentIdentity>> ClusterTokenOwners::owner_of(std::string token) {
    auto claim = co_await check_here(token);
    if (!claim) {
        if (claim.error().code == Errc::unavailable) {
            tell(&claim.error());
        }
        co_return fail(std::move(claim.error()).within("token"));
    }
    // Counted by the clock that does not jump; check_here() holds it against the wall clock.
    const auto expires = clock_.steady() + std::min<std::chrono::milliseconds>(
                                               claim->expires - clock_.wall(), longest_kept);
    auto confirmed = co_await confirm(std::move(token), expires);
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

Task<Status> ClusterTokenOwners::confirm(std::string token, SteadyTime expires) {
    auto digest = sha256_hex(token);
    if (const auto* known = reviewed_.find(digest, clock_.steady())) {
        co_return *known;
    }
    if (const auto found = under_way_.find(digest); found != under_way_.end()) {
        const auto other = found->second;
        co_await other->ended.async_wait(as_result);
        co_return other->outcome;
    }
    UnderWay own(*this, std::move(digest));
    auto outcome = co_await review(std::move(token));
    own.end(outcome);
    const bool answered = outcome || outcome.error().code == Errc::refused;
    tell(answered ? nullptr : &outcome.error());
    if (answered) {
        const auto refusal_ends = clock_.steady() + refusal_kept;
        reviewed_.keep(own.digest(), outcome,
                       outcome ? expires : std::min<SteadyTime>(expires, refusal_ends));
    }
    co_return outcome;
}

Task<Status> ClusterTokenOwners::review(std::string token) {
    const auto place = co_await places_->enter(wait_limit);
    if (!place) {
        co_return fail(Errc::unavailable, "it was not checked in time, many agents come at once: " +
                                              place.error().message);
    }
    ++made_;
    std::vector<std::string> audiences{rules_.audience};
    const kube::CallOptions options{.limit = review_limit};
    const auto owner = co_await api_.owner_of(std::move(token), std::move(audiences), options);
    if (!owner) {
        co_return fail(Errc::unavailable, "it cannot be checked: " + owner.error().error.message);
    }
    co_return judge(*owner);
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
