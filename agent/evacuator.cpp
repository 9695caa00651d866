// SPDX-License-Identifier: Apache-2.0
#include "agent/evacuator.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "agent/node_reading.h"
#include "base/logging.h"

namespace scout::agent {
namespace {

/// Launchers that are asked at once for what they know, and for a dirty rate, which takes each a
/// second; and how long one waits for its turn.
constexpr std::size_t asked_at_once = 8;
constexpr std::size_t measured_at_once = 8;
constexpr std::chrono::seconds turn_limit{3};
/// So exactly the next agent knows when this one was there.
constexpr std::chrono::seconds alive_every{3};

}  // namespace

Evacuator::Evacuator(Evacuations::Options options, Parts parts)
    : parts_(std::move(parts)),
      pacer_(parts_.loop, parts_.clock),
      marks_pacer_(parts_.loop, parts_.clock),
      evacuations_(std::move(options), parts_.clock, parts_.metrics, [this] { pacer_.wake(); }),
      numbers_(std::make_shared<Places>(parts_.loop, asked_at_once)),
      dirty_rates_(std::make_shared<Places>(parts_.loop, measured_at_once)),
      scope_(parts_.loop) {
    news_ =
        parts_.launchers.watch_launchers([this](const launcher::LauncherTable&) { pacer_.wake(); });
}

Task<> Evacuator::run() {
    co_await remember();
    scope_.spawn("marks", [this] { return keep_marks(); });
    for (;;) {
        evacuations_.turn(parts_.launchers.launchers());
        marks_pacer_.wake();
        for (auto& pod : evacuations_.to_measure()) {
            scope_.spawn("launcher numbers", [this, pod] { return measure(pod); });
        }
        if (evacuations_.has_next()) {
            parts_.tell();
        }
        co_await pacer_.wait_until(evacuations_.wake());
    }
}

Task<> Evacuator::remember() {
    if (!parts_.marks_file.empty()) {
        auto work = [file = parts_.marks_file, now = parts_.clock.steady()] {
            return read_marks(file, boot_id_file, now);
        };
        auto marks = co_await offload(parts_.pool, file_limit, std::move(work));
        if (!marks) {
            spdlog::warn("since when launchers are told to stop is not known reason={}",
                         log_value(marks.error().message));
        }
        evacuations_.remember(std::move(marks).value_or(KeptMarks{}));
    }
    remembers_ = true;
}

Task<> Evacuator::keep_marks() {
    std::optional<std::uint64_t> kept;  // that of the agent before is as old as it was alive
    std::string told;
    while (!parts_.marks_file.empty()) {
        const bool same = kept == evacuations_.marks_revision();
        kept = evacuations_.marks_revision();
        auto work = [same, file = parts_.marks_file, marks = evacuations_.marks()] {
            return same ? note_alive(file) : write_marks(file, boot_id_file, marks);
        };
        const auto written = co_await offload(parts_.pool, file_limit, std::move(work));
        if (!written) {
            kept.reset();
        }
        auto fault = written ? std::string{} : written.error().message;
        if (!fault.empty() && fault != told) {
            spdlog::warn("since when launchers are told to stop cannot be kept reason={}",
                         log_value(fault));
        }
        told = std::move(fault);
        const auto next = parts_.clock.steady() + alive_every;
        do {
            co_await marks_pacer_.wait_until(next);
        } while ((!kept || kept == evacuations_.marks_revision()) && parts_.clock.steady() < next);
    }
}

/// None: it tells none.
Task<std::optional<launcher::DomainStats>> Evacuator::numbers_of(std::string pod_uid) {
    const auto place = co_await numbers_->enter(turn_limit);
    if (!place) {
        co_return std::nullopt;
    }
    auto stats = co_await parts_.launchers.stats(pod_uid);
    if (!stats) {
        spdlog::debug("launcher tells no numbers pod={} error={}", log_value(pod_uid),
                      log_value(stats.error().message));
        co_return std::nullopt;
    }
    co_return *std::move(stats);
}

Task<> Evacuator::measure(std::string pod_uid) {
    const auto numbers = co_await numbers_of(pod_uid);
    if (!numbers) {
        co_return;
    }
    evacuations_.measured(pod_uid, *numbers);
    if (!evacuations_.wants_dirty_rate(pod_uid)) {
        co_return;
    }
    const auto place = co_await dirty_rates_->enter(turn_limit);
    // Another one may have told it meanwhile.
    if (!place || !evacuations_.wants_dirty_rate(pod_uid)) {
        co_return;
    }
    const auto rate = co_await parts_.launchers.dirty_rate(pod_uid);
    if (rate) {
        evacuations_.measured_dirty_rate(pod_uid, *rate);
    } else {
        spdlog::debug("launcher tells no dirty rate pod={} error={}", log_value(pod_uid),
                      log_value(rate.error().message));
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
    const auto asked = parts_.clock.steady();
    co_await parts_.launchers.ask_now(std::move(pods), ask_limit);
    auto answer = answer_now(*question);
    if (!answer) {
        answer = evacuations_.answer_unheard(*question, parts_.launchers.launchers(), asked);
    }
    co_return answer;
}

}  // namespace scout::agent
