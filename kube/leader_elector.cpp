// SPDX-License-Identifier: Apache-2.0
#include "kube/leader_elector.h"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "base/backoff.h"
#include "base/logging.h"
#include "base/shield.h"

namespace scout::kube {
namespace {

constexpr double jitter = 0.2;
constexpr std::chrono::milliseconds shortest{1};

}  // namespace

LeaderElector::LeaderElector(LeasePort& port, const Clock& clock, LeaseSettings settings,
                             std::uint64_t seed)
    : port_(port),
      clock_(clock),
      settings_(settings),
      election_(std::move(settings)),
      random_(seed) {}

Task<> LeaderElector::run() {
    for (;;) {
        const auto begun = clock_.steady();
        co_await turn();
        tell();
        asio::steady_timer timer(co_await asio::this_coro::executor, pause_after(begun));
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        tell();
    }
}

std::chrono::milliseconds LeaderElector::pause_after(SteadyTime begun) {
    const auto now = clock_.steady();
    const auto until = [now](SteadyTime then) {
        return std::max(shortest, std::chrono::ceil<std::chrono::milliseconds>(then - now));
    };
    if (conflicted_) {
        // Who led wants to know at once who does now.
        return shortest;
    }
    const auto wait = jittered(settings_.retry, jitter, random_);
    if (leads()) {
        // What the calls took is gone of the deadline, so it counts. And a leader wakes up when its
        // time is over, so that the loss is told and not only answered.
        return std::min(until(begun + wait), time_left());
    }
    // Who waits looks when the lease may be free, not a retry later.
    return now < election_.free_at() ? std::min(wait, until(election_.free_at())) : wait;
}

Task<> LeaderElector::turn() {
    conflicted_ = false;
    auto sent = clock_.steady();
    auto request = election_.attempt(sent, clock_.wall());
    if (request.verb == LeaseElection::Verb::read) {
        auto lease = co_await port_.read(limit());
        if (!lease) {
            say_failure(lease.error());
            co_return;
        }
        sent = clock_.steady();
        auto next = election_.read_answer(sent, clock_.wall(), std::move(*lease));
        trouble_.clear();
        if (!next) {
            co_return;
        }
        request = std::move(*next);
    }
    const auto stored = co_await write(std::move(request), limit());
    if (!stored) {
        election_.unanswered();
        say_failure(stored.error());
    } else if (const auto& lease = *stored) {
        trouble_.clear();
        election_.written(clock_.steady(), sent, *lease);
    } else {
        // Who did not lead waits: a server that always answers so would be asked in a loop.
        conflicted_ = leads();
        election_.conflicted();
    }
}

Task<LeaderElector::Stored> LeaderElector::write(LeaseElection::Request request,
                                                 std::chrono::milliseconds limit) {
    if (request.verb == LeaseElection::Verb::create) {
        auto created = co_await port_.create(std::move(request.record), limit);
        co_return created;
    }
    StoredLease lease{.record = std::move(request.record), .version = std::move(request.version)};
    auto updated = co_await port_.update(std::move(lease), limit);
    co_return updated;
}

Task<> LeaderElector::release(std::chrono::milliseconds limit) {
    auto request = election_.release(clock_.wall());
    tell();
    if (!request) {
        co_return;
    }
    const auto freed = co_await shield(give_back(std::move(*request), clock_.steady() + limit));
    if (!freed) {
        spdlog::warn("lease could not be given back, others wait for its end error={}",
                     log_value(freed.error().message));
    }
}

/// A renewal that was cut off may have been stored, so that the version is another one: the lease
/// is looked at once more then.
Task<Status> LeaderElector::give_back(LeaseElection::Request request, SteadyTime until) {
    const auto left = [this, until] {
        return std::max(shortest,
                        std::chrono::floor<std::chrono::milliseconds>(until - clock_.steady()));
    };
    auto same = request;
    auto written = co_await write(std::move(same), left());
    if (written && !*written) {
        const auto seen = co_await port_.read(left());
        if (!seen) {
            co_return fail(seen.error());
        }
        const auto& lease = *seen;
        if (!lease || lease->record.holder != settings_.identity) {
            co_return Status{};
        }
        request.version = lease->version;
        written = co_await write(std::move(request), left());
    }
    if (!written) {
        co_return fail(std::move(written.error()));
    }
    co_return *written ? Status{} : fail(Errc::refused, "it is written by others all the time");
}

std::chrono::milliseconds LeaderElector::limit() const {
    const auto half = settings_.renew_deadline / 2;
    return leads() ? std::min(half, time_left()) : half;
}

std::chrono::milliseconds LeaderElector::time_left() const {
    return std::max(shortest, std::chrono::ceil<std::chrono::milliseconds>(
                                  election_.may_write_until() - clock_.steady()));
}

std::chrono::milliseconds LeaderElector::may_write_for() const {
    const auto now = clock_.steady();
    return std::chrono::floor<std::chrono::milliseconds>(std::max(may_write_until(), now) - now);
}

void LeaderElector::tell() {
    const bool now = leads();
    if (std::exchange(told_, now) == now) {
        return;
    }
    spdlog::info("{} identity={}", now ? "leading" : "leadership lost",
                 log_value(settings_.identity));
    for (const auto& handler : handlers_) {
        handler(now);
    }
}

void LeaderElector::say_failure(const Error& error) {
    if (error.code == Errc::cancelled) {
        return;
    }
    spdlog::log(trouble_.empty() ? spdlog::level::warn : spdlog::level::debug,
                "lease cannot be read or written, trying again error={}", log_value(error.message));
    trouble_ = error.message;
}

}  // namespace scout::kube
