// SPDX-License-Identifier: Apache-2.0
#include "agent/report_state.h"

#include <utility>

#include "base/backoff.h"

namespace scout::agent {

ReportState::ReportState(HelloMessage hello, ReportPolicy policy, std::uint64_t seed)
    : hello_(std::move(hello)), policy_(policy), random_(seed) {}

void ReportState::connected() {
    hello_due_ = true;
    full_due_ = true;
    wanted_profile_.clear();
}

std::optional<Message> ReportState::next(const Snapshot& now, SteadyTime time) {
    auto message = decide(now, time);
    if (message) {
        heartbeat_due_ = time + jittered(policy_.heartbeat, policy_.jitter, random_);
    }
    return message;
}

std::optional<Message> ReportState::decide(const Snapshot& now, SteadyTime time) {
    if (std::exchange(hello_due_, false)) {
        return hello_;
    }
    if (full_due_ && now.complete()) {
        full_due_ = false;
        return full(now);
    }
    if (!full_due_) {
        if (auto asked = profile(now)) {
            return asked;
        }
        if (auto changed = delta(now)) {
            return changed;
        }
    }
    if (time >= heartbeat_due_) {
        return HeartbeatMessage{.sequence = sequence_};
    }
    return std::nullopt;
}

FullMessage ReportState::full(const Snapshot& now) {
    FullMessage message{.sequence = ++sequence_, .host = now.host(), .guests = {}};
    sent_host_ = now.host_revision();
    sent_guests_.clear();
    for (const auto& [uuid, guest] : now.guests()) {
        if (message.guests.size() == policy_.guests_per_message) {
            message.more = true;
            break;
        }
        message.guests.push_back(guest.state);
        sent_guests_[uuid] = guest.revision;
    }
    more_owed_ = message.more;
    return message;
}

std::optional<Message> ReportState::profile(const Snapshot& now) {
    const auto wanted = std::exchange(wanted_profile_, {});
    if (wanted.empty() || wanted != now.host().profile_digest || !now.host().profile) {
        return std::nullopt;
    }
    return ProfileMessage{.digest = wanted, .profile = now.host().profile};
}

std::optional<Message> ReportState::delta(const Snapshot& now) {
    DeltaMessage message;
    if (sent_host_ != now.host_revision()) {
        message.host = now.host();
    }
    for (const auto& [uuid, guest] : now.guests()) {
        const auto sent = sent_guests_.find(uuid);
        if (sent != sent_guests_.end() && sent->second == guest.revision) {
            continue;
        }
        if (message.changed.size() == policy_.guests_per_message) {
            message.more = true;
            break;
        }
        message.changed.push_back(guest.state);
        sent_guests_[uuid] = guest.revision;
    }
    for (auto sent = sent_guests_.begin(); sent != sent_guests_.end();) {
        if (now.guests().contains(sent->first)) {
            ++sent;
            continue;
        }
        if (message.removed.size() == policy_.guests_per_message) {
            message.more = true;
            break;
        }
        message.removed.push_back(now.removal_of(sent->first));
        sent = sent_guests_.erase(sent);
    }
    const bool empty = !message.host && message.changed.empty() && message.removed.empty();
    if (empty && !more_owed_) {
        return std::nullopt;
    }
    more_owed_ = message.more;
    sent_host_ = now.host_revision();
    message.sequence = ++sequence_;
    return message;
}

}  // namespace scout::agent
