// SPDX-License-Identifier: Apache-2.0
#include "agent/prober.h"

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <spdlog/spdlog.h>

#include "base/folder_watch.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

constexpr std::size_t most_notices = 16;
constexpr double interval_jitter = 0.1;
constexpr std::chrono::seconds first_retry{10};

/// A failure is told once; the same one again and again is detail.
void tell_failure(std::string_view what, const std::string& now, const std::string& before) {
    spdlog::log(now == before ? spdlog::level::debug : spdlog::level::warn, "{} error={}", what,
                log_value(now));
}

void tell_profile(const HostPart& now, const HostPart& before) {
    if (now.profile_digest == before.profile_digest && now.source == before.source) {
        return;
    }
    const auto& profile = *now.profile;
    spdlog::info("this node can run source={} arch={} virt_type={} host_model={} digest={}",
                 now.source, log_value(profile.arch), log_value(profile.virt_type),
                 log_value(profile.host_model ? profile.host_model->name : "none"),
                 now.profile_digest);
}

}  // namespace

Prober::Prober(ProberConfig config, Parts parts, std::function<void()> changed, std::uint64_t seed)
    : config_(std::move(config)),
      parts_(std::move(parts)),
      changed_(std::move(changed)),
      backoff_(seed, {.least = std::min<std::chrono::milliseconds>(first_retry, config_.interval),
                      .most = config_.interval}),
      random_(seed) {}

Task<> Prober::run() {
    asio::steady_timer timer(parts_.loop);
    for (;;) {
        const bool good = co_await probe_once();
        if (good) {
            backoff_.reset();
        }
        timer.expires_after(good ? jittered(config_.interval, interval_jitter, random_)
                                 : backoff_.next());
        co_await timer.async_wait(as_result);
    }
}

Task<bool> Prober::probe_once() {
    const auto begun = parts_.clock.steady();
    auto reading = co_await ask_hypervisor();
    const std::chrono::duration<double> took = parts_.clock.steady() - begun;
    const bool good = reading.has_value();
    parts_.metrics.probes.Increment();
    parts_.metrics.probe_failures.Increment(good ? 0 : 1);
    parts_.metrics.last_probe_seconds.Set(took.count());
    take_own(std::move(reading));
    co_await look_at_labeller();
    probed_ = true;
    publish();
    co_return good;
}

Task<Result<NodeReading>> Prober::ask_hypervisor() {
    // In a coroutine of its own: a probe that must clean up after a cancellation turns cancellation
    // off for the coroutine that it runs in, and this one has to end when it is told to.
    auto documents =
        co_await asio::co_spawn(parts_.loop, parts_.hypervisor.probe(), asio::use_awaitable);
    if (!documents) {
        co_return fail(std::move(documents.error()));
    }
    auto work = [documents = std::move(*documents), root = config_.host_root,
                 state = config_.state_dir] { return read_probe(documents, root, state); };
    auto reading = co_await offload(parts_.pool, file_limit, std::move(work));
    co_return reading;
}

Task<> Prober::watch_labeller() {
    if (config_.labeller_dir.empty()) {
        co_return;
    }
    FolderWatch watch(parts_.loop, config_.labeller_dir);
    std::vector<std::string> known{"never looked"};
    for (;;) {
        auto look = [folder = config_.labeller_dir] { return folder_signature(folder); };
        auto now = co_await offload(parts_.pool, file_limit, std::move(look));
        if (now && *now != known) {
            known = std::move(*now);
            co_await look_at_labeller();
            publish();
        }
        co_await watch.wait(config_.labeller_rescan, config_.labeller_quiet);
    }
}

Task<> Prober::look_at_labeller() {
    if (config_.labeller_dir.empty()) {
        co_return;
    }
    auto work = [folder = config_.labeller_dir, root = config_.host_root] {
        return read_labeller(folder, root);
    };
    const auto number = ++labeller_looks_;
    auto reading = co_await offload(parts_.pool, file_limit, std::move(work));
    if (number > labeller_taken_) {
        labeller_taken_ = number;
        take_labeller(std::move(reading));
    }
}

void Prober::take_own(Result<NodeReading> reading) {
    if (!reading) {
        tell_failure("the hypervisor gave no usable answer", reading.error().message, own_error_);
        own_error_ = std::move(reading.error().message);
        return;
    }
    own_error_.clear();
    add_notices(reading->changes);
    for (const auto& warning : reading->warnings) {
        const bool told = std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end();
        spdlog::log(told ? spdlog::level::debug : spdlog::level::info, "probe note={}",
                    log_value(warning));
    }
    warnings_ = reading->warnings;
    own_ = std::move(*reading);
}

void Prober::take_labeller(Result<std::optional<NodeReading>> reading) {
    if (!reading) {
        tell_failure("the labeller's files are of no use", reading.error().message,
                     labeller_error_);
        labeller_error_ = std::move(reading.error().message);
        return;
    }
    labeller_error_.clear();
    labeller_ = std::move(*reading);
}

void Prober::add_notices(const std::vector<std::string>& changes) {
    for (const auto& change : changes) {
        spdlog::warn("this host changed notice={}", log_value(change));
        std::erase(notices_, change);
        notices_.push_back(change);
    }
    if (notices_.size() > most_notices) {
        notices_.erase(notices_.begin(), notices_.end() - most_notices);
    }
}

/// The labeller's word holds where there is one, else the hypervisor's own; what failed is told
/// beside the last good answer.
void Prober::publish() {
    HostPart now;
    const bool labelled = labeller_ || !labeller_error_.empty();
    now.probe_error = labelled ? labeller_error_ : own_error_;
    if (const auto* reading = labeller_ ? &*labeller_ : own_ ? &*own_ : nullptr) {
        now.profile = reading->profile;
        now.profile_digest = reading->digest;
        now.facts = reading->facts;
        now.source = reading->source;
        now.yardstick = reading->yardstick;
    }
    now.notices = notices_;
    if (now.profile) {
        tell_profile(now, host_);
    }
    host_ = std::move(now);
    changed_();
}

}  // namespace scout::agent
