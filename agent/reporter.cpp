// SPDX-License-Identifier: Apache-2.0
#include "agent/reporter.h"

#include <exception>
#include <string_view>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <spdlog/spdlog.h>

#include "agent/evacuations.h"
#include "agent/node_certificate.h"
#include "agent/pressure_teller.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

/// A stream that lasted this long was a success; one that ends sooner keeps the back-off growing,
/// even if the aggregator answered: it may refuse this node every time.
constexpr std::chrono::seconds settled{30};

/// With gRPC's own back-off (wire/credentials.cpp) an agent is back within 25 s of the aggregator,
/// before its node is stale (35 s); drawn from 5 to 10 s, a fleet of 5,000 comes at 1,000 a second.
constexpr BackoffRange again_range{.least = std::chrono::seconds{1},
                                   .most = std::chrono::seconds{10}};

/// Trouble of one kind whose reason is worded anew each time is told no more often.
constexpr std::chrono::minutes tell_again{1};

struct Trouble {
    spdlog::level::level_enum level;  ///< error: it stays so until somebody mends something
    std::string_view text;
    std::string_view what_to_do;
};

constexpr Trouble trouble_here{spdlog::level::err, "this agent cannot report",
                               "mend what the reason names; check this agent's "
                               "aggregator-address, tls-ca, tls-cert, tls-key and token-file"};

/// What an end of the stream by the aggregator means to the people who run this agent.
Trouble trouble_of(Errc code) {
    using spdlog::level::err;
    constexpr std::string_view refused = "the aggregator refuses this agent's reports";
    switch (code) {
        case Errc::unavailable:
        case Errc::timed_out:
        case Errc::cancelled:
            return {spdlog::level::warn, "no reports are taken for now", "nothing unless it stays"};
        case Errc::refused:
            return {err, refused, "mend what the reason names"};
        case Errc::invalid:
        case Errc::not_found:
            return {err, refused,
                    "check aggregator-address, and run agent and aggregator of one version"};
        case Errc::internal:
            break;
    }
    return {err, refused, "see the aggregator's log"};
}

}  // namespace

Reporter::Reporter(HelloMessage hello, ReportPolicy policy, Parts parts, std::uint64_t seed)
    : parts_(std::move(parts)),
      state_(std::move(hello), policy, seed),
      backoff_(seed, again_range) {}

Task<> Reporter::run() {
    for (;;) {
        const auto begun = parts_.pacer.now();
        const Ended ended = co_await session();
        set_connected(false);
        if (parts_.evacuations != nullptr) {
            parts_.evacuations->lost_leader();
        }
        // The aggregator's own "cancelled" is one more reason to come again.
        const auto cancelled = co_await asio::this_coro::cancellation_state;
        if (cancelled.cancelled() != asio::cancellation_type::none) {
            co_return;
        }
        tell(ended);
        if (parts_.pacer.now() - begun >= settled) {
            backoff_.reset();
        }
        const auto again = parts_.pacer.now() + backoff_.next();
        while (parts_.pacer.now() < again) {
            co_await parts_.pacer.wait_until(again);
        }
        parts_.metrics.reconnects.Increment();
    }
}

/// One half of a session that throws must end the other half too, which `||` would wait for.
Task<Reporter::Ended> Reporter::guarded(Task<Error> half) {
    try {
        Error error = co_await std::move(half);
        co_return Ended{.error = std::move(error)};
    } catch (const std::exception& error) {
        co_return Ended{.error = {Errc::internal, error.what()}, .here = true};
    }
}

Task<Reporter::Ended> Reporter::session() {
    using namespace asio::experimental::awaitable_operators;
    auto opened = parts_.link.open();
    if (!opened) {
        co_return Ended{.error = std::move(opened.error()), .here = true};
    }
    const auto stream = std::move(*opened);
    state_.connected();
    if (parts_.pressure != nullptr) {
        parts_.pressure->connected();
    }
    auto ended = co_await (guarded(send_all(stream.get())) || guarded(receive_all(stream.get())));
    co_return std::visit([](Ended& half) { return std::move(half); }, ended);
}

/// What a guest waits for goes before reports. A certificate is asked for when there is nothing
/// else to say; both after the hello.
std::optional<Message> Reporter::next() {
    if (parts_.evacuations != nullptr && state_.is_greeted()) {
        if (auto urgent = parts_.evacuations->next()) {
            return urgent;
        }
    }
    const auto now = parts_.pacer.now();
    auto message = state_.next(parts_.snapshot, now);
    if (!message && parts_.pressure != nullptr) {
        if (auto report = parts_.pressure->next(now)) {
            message = PressureMessage{.report = *std::move(report)};
        }
    }
    if (!message && parts_.certificate != nullptr) {
        message = parts_.certificate->next();
    }
    return message;
}

Task<Error> Reporter::send_all(ReportStream* stream) {
    for (;;) {
        auto message = next();
        if (!message) {
            co_await parts_.pacer.wait_until(state_.heartbeat_due());
            continue;
        }
        auto sent = co_await stream->send(std::move(*message));
        if (!sent) {
            co_return std::move(sent.error());
        }
        parts_.metrics.messages_sent.Increment();
    }
}

Task<Error> Reporter::receive_all(ReportStream* stream) {
    for (;;) {
        auto request = co_await stream->receive();
        if (!request) {
            co_return std::move(request.error());
        }
        take(*std::move(request));
    }
}

namespace {

/// True if it was about evacuations.
bool take_evacuation(Evacuations& evacuations, Request& request) {
    evacuations.heard_leader();
    if (const auto* rules = std::get_if<EvacuationRules>(&request)) {
        evacuations.take(*rules);
    } else if (const auto* facts = std::get_if<EvacuationFacts>(&request)) {
        evacuations.take(*facts);
    } else if (auto* result = std::get_if<EvacuationResult>(&request)) {
        evacuations.take(std::move(*result));
    } else {
        return false;
    }
    return true;
}

}  // namespace

void Reporter::take(Request request) {
    set_connected(true);
    if (parts_.evacuations != nullptr && take_evacuation(*parts_.evacuations, request)) {
        return;
    }
    if (const auto* wanted = std::get_if<WantProfile>(&request)) {
        state_.wants_profile(wanted->digest);
        parts_.pacer.wake();
    } else if (std::holds_alternative<WantFull>(request)) {
        state_.wants_full();
        parts_.pacer.wake();
    } else if (const auto* answer = std::get_if<SignedCertificate>(&request)) {
        if (parts_.certificate != nullptr) {
            parts_.certificate->take(*answer);
        }
    } else if (auto* standings = std::get_if<migration::PodStandings>(&request)) {
        if (parts_.take_standings) {
            parts_.take_standings(std::move(*standings));
        }
    }
}

void Reporter::set_connected(bool connected) {
    if (connected && !connected_) {
        spdlog::info("the aggregator takes reports");
        if (told_) {
            told_->reason.clear();
        }
    }
    connected_ = connected;
    parts_.metrics.aggregator_connected.Set(connected ? 1 : 0);
}

/// A failure is worth telling once; the same one again and again is detail.
void Reporter::tell(const Ended& ended) {
    const auto& reason = ended.error.message;
    const auto trouble = ended.here ? trouble_here : trouble_of(ended.error.code);
    const auto now = parts_.pacer.now();
    const bool worth = !told_ || told_->text != trouble.text ||
                       (told_->reason != reason && now - told_->time >= tell_again);
    if (worth) {
        told_ = {.text = trouble.text, .reason = reason, .time = now};
    }
    spdlog::log(worth ? trouble.level : spdlog::level::debug, "{}, trying again reason={} to_do={}",
                trouble.text, log_value(reason), log_value(trouble.what_to_do));
}

}  // namespace scout::agent
