// SPDX-License-Identifier: Apache-2.0
#include "aggregator/access_reviews.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"

namespace scout::aggregator {
namespace {

/// Each text with its length in front: no two lists of texts read the same.
void add(std::string& key, std::string_view text) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
}

void add(std::string& key, const std::vector<std::string>& texts) {
    add(key, std::to_string(texts.size()));
    for (const auto& text : texts) {
        add(key, text);
    }
}

std::string digest_of(const kube::Subject& subject, const kube::AccessQuestion& question) {
    std::string key;
    for (const auto& text : {subject.user, subject.uid, question.verb, question.resource.group,
                             question.resource.version, question.resource.plural,
                             question.subresource, question.object.space, question.object.name}) {
        add(key, text);
    }
    add(key, subject.groups);
    for (const auto& [name, values] : subject.extra) {
        add(key, name);
        add(key, values);
    }
    return sha256_hex(key);
}

}  // namespace

AccessReviews::AccessReviews(const asio::any_io_executor& loop, kube::Client& client,
                             const Clock& clock, AccessRules rules)
    : rules_(rules), api_(client), reviews_(loop, clock, rules.limits) {}

Task<Status> AccessReviews::check(kube::Subject subject, kube::AccessQuestion question) {
    auto digest = digest_of(subject, question);
    std::function<Task<Review>()> ask = [this, subject = std::move(subject),
                                         question = std::move(question)] {
        return review(subject, question);
    };
    co_return co_await reviews_.outcome(std::move(digest), std::move(ask));
}

Task<Review> AccessReviews::review(kube::Subject subject, kube::AccessQuestion question) {
    ++made_;
    const kube::CallOptions options{.limit = rules_.answer};
    auto decision = co_await api_.may(std::move(subject), std::move(question), options);
    if (!decision) {
        co_return Review{.outcome = fail(Errc::unavailable, decision.error().error.message)};
    }
    if (decision->allowed) {
        co_return Review{.outcome = {}, .kept = rules_.allowed_kept};
    }
    co_return Review{.outcome = fail(Errc::refused, std::move(decision->reason)),
                     .kept = rules_.denied_kept};
}

}  // namespace scout::aggregator
