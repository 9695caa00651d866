// SPDX-License-Identifier: Apache-2.0
#include "aggregator/profile_requests.h"

#include <chrono>

namespace scout::aggregator {
namespace {

constexpr std::chrono::seconds answer_limit{10};

}  // namespace

void ProfileRequests::want(SessionId session, const std::string& digest, SteadyTime now) {
    if (!waits(session, digest)) {
        forget(session, now);
    }
    waits_for_[session] = digest;
    auto& wanted = wanted_[digest];
    const bool first = wanted.waiting.empty();
    wanted.waiting.insert(session);
    if (first) {
        ask(digest, wanted, now);
    }
}

bool ProfileRequests::waits(SessionId session, const std::string& digest) const {
    const auto found = waits_for_.find(session);
    return found != waits_for_.end() && found->second == digest;
}

void ProfileRequests::forget(SessionId session, SteadyTime now) {
    const auto waiting = waits_for_.extract(session);
    if (waiting.empty()) {
        return;
    }
    const auto wanted = wanted_.find(waiting.mapped());
    wanted->second.waiting.erase(session);
    if (wanted->second.waiting.empty()) {
        wanted_.erase(wanted);
    } else if (wanted->second.asked == session) {
        ask(wanted->first, wanted->second, now);
    }
}

void ProfileRequests::delivered(const std::string& digest) {
    const auto wanted = wanted_.extract(digest);
    if (wanted.empty()) {
        return;
    }
    for (const auto waiting : wanted.mapped().waiting) {
        waits_for_.erase(waiting);
    }
}

void ProfileRequests::clear() {
    wanted_.clear();
    waits_for_.clear();
}

void ProfileRequests::tick(SteadyTime now) {
    for (auto& [digest, wanted] : wanted_) {
        if (now - wanted.asked_at >= answer_limit) {
            ask(digest, wanted, now);
        }
    }
}

/// The next one that waits, in turn.
void ProfileRequests::ask(const std::string& digest, Wanted& wanted, SteadyTime now) {
    auto next = wanted.waiting.upper_bound(wanted.asked);
    if (next == wanted.waiting.end()) {
        next = wanted.waiting.begin();
    }
    wanted.asked = *next;
    wanted.asked_at = now;
    ask_(wanted.asked, digest);
}

}  // namespace scout::aggregator
