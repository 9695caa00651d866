// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuator.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::agent {
namespace {

/// Launchers that are asked for numbers at once, and how long one waits for its turn.
constexpr std::size_t measured_at_once = 8;
constexpr std::chrono::seconds turn_limit{3};

}  // namespace

Evacuator::Evacuator(Evacuations::Options options, Parts parts)
    : parts_(std::move(parts)),
      pacer_(parts_.loop, parts_.clock),
      evacuations_(std::move(options), parts_.clock, parts_.metrics, [this] { pacer_.wake(); }),
      places_(std::make_shared<Places>(parts_.loop, measured_at_once)),
      scope_(parts_.loop) {
    news_ =
        parts_.launchers.watch_launchers([this](const launcher::LauncherTable&) { pacer_.wake(); });
}

Task<> Evacuator::run() {
    for (;;) {
        evacuations_.turn(parts_.launchers.launchers());
        for (auto& pod : evacuations_.to_measure()) {
            scope_.spawn("launcher numbers", [this, pod] { return measure(pod); });
        }
        if (evacuations_.has_next()) {
            parts_.tell();
        }
        co_await pacer_.wait_until(evacuations_.wake());
    }
}

Task<> Evacuator::measure(std::string pod_uid) {
    const auto place = co_await places_->enter(turn_limit);
    if (!place) {
        co_return;
    }
    const auto stats = co_await parts_.launchers.stats(pod_uid);
    if (stats && *stats) {
        evacuations_.measured(pod_uid, **stats);
    } else if (!stats) {
        spdlog::debug("launcher tells no numbers pod={} error={}", log_value(pod_uid),
                      log_value(stats.error().message));
    }
}

std::optional<migration::HookAnswer> Evacuator::answer_now(const StopQuestion& question) {
    return evacuations_.answer(question, parts_.launchers.launchers());
}

Task<std::optional<migration::HookAnswer>> Evacuator::answer(
    std::shared_ptr<const StopQuestion> question) {
    auto pods = Evacuations::launchers_of(*question, parts_.launchers.launchers());
    if (pods.empty()) {
        co_return std::nullopt;
    }
    co_await parts_.launchers.ask_now(std::move(pods), ask_limit);
    auto answer = answer_now(*question);
    if (!answer) {
        // It was not told to stop, or does not say so in time.
        answer.emplace();
    }
    co_return answer;
}

}  // namespace scout::agent
