// SPDX-License-Identifier: Apache-2.0
#include "migration/convergence.h"

#include <algorithm>

namespace scout::migration {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds default_downtime{300};
constexpr double mebibyte = 1'048'576;
constexpr std::chrono::hours longest{24 * 365 * 100};
// QEMU's auto-converge: where more than half of what a pass sent was written to meanwhile, for the
// second time, the guest loses a fifth of its CPU time, and then a tenth more each time.
constexpr double too_much_written = 0.5;
constexpr unsigned first_throttle = 20;
constexpr unsigned next_throttle = 10;
constexpr unsigned most_throttle = 99;
// A guest whose rest shrinks by less in a pass does not get there.
constexpr double shrinks = 0.999;
constexpr unsigned most_passes = 100'000;

struct Assumption {
    double memory;
    double disks;
    double dirty_rate;
    double link;
    double bandwidth;  ///< what the policy leaves of the link
};

Seconds completion_of(const MigrationLoad& load, const MigrationSettings& settings) {
    return completion_limit(settings, load.memory.most + load.disks.counted);
}

class Course {
public:
    Course(const Assumption& assumed, const MigrationLoad& load, const MigrationSettings& settings,
           Seconds downtime)
        : assumed_(assumed),
          settings_(settings),
          downtime_(downtime),
          limit_(completion_of(load, settings)),
          setup_(load.setup),
          time_(load.start),
          whole_(assumed.memory + assumed.disks),
          left_(whole_) {}

    [[nodiscard]] MigrationCourse run() {
        if (assumed_.bandwidth <= 0) {
            return without_progress();
        }
        while (made_.passes < most_passes) {
            const Seconds pass{left_ / assumed_.bandwidth};
            if (made_.passes > 0 && pass <= downtime_) {
                return ended(MigrationEnd::converged, pass, pass);
            }
            if (has_limit() && time_ + pass > limit_) {
                return cut_off();
            }
            const double before = left_;
            advance(pass);
            if (left_ >= before * shrinks && made_.passes > 1 && !will_be_slowed(before)) {
                break;
            }
        }
        // From here on each pass is like the one before.
        return has_limit() ? at_the_limit() : made_;
    }

private:
    [[nodiscard]] bool has_limit() const noexcept { return limit_ > Seconds::zero(); }
    [[nodiscard]] double written_in(Seconds time) const noexcept {
        const double runs = 1.0 - made_.throttle / 100.0;
        return std::min(assumed_.memory, assumed_.dirty_rate * runs * time.count());
    }

    void advance(Seconds pass) {
        const double sent = left_;
        time_ += pass;
        ++made_.passes;
        left_ = written_in(pass);
        if (settings_.allow_auto_converge && left_ > sent * too_much_written &&
            ++hot_passes_ >= 2) {
            hot_passes_ = 0;
            made_.throttle = made_.throttle == 0
                                 ? first_throttle
                                 : std::min(made_.throttle + next_throttle, most_throttle);
        }
    }
    [[nodiscard]] bool will_be_slowed(double before) const noexcept {
        return settings_.allow_auto_converge && made_.throttle < most_throttle &&
               left_ > before * too_much_written;
    }

    /// The limit comes in the middle of a pass.
    [[nodiscard]] MigrationCourse cut_off() {
        const Seconds begun = std::max(Seconds::zero(), limit_ - time_);
        // What was not sent yet and is written to is sent once.
        left_ = std::min(whole_, left_ - begun.count() * assumed_.bandwidth + written_in(begun));
        return at_the_limit();
    }

    [[nodiscard]] MigrationCourse at_the_limit() {
        time_ = limit_;
        if (settings_.allow_workload_disruption && settings_.allow_post_copy) {
            // QEMU has a limit of its own for this part, which KubeVirt leaves at none.
            return ended(MigrationEnd::post_copy, Seconds{left_ / assumed_.link}, downtime_);
        }
        const Seconds rest{left_ / assumed_.bandwidth};
        if (settings_.allow_workload_disruption && rest <= limit_) {
            return ended(MigrationEnd::paused, rest, rest);
        }
        // Paused, it is given up when as much time again is over.
        const Seconds in_vain = settings_.allow_workload_disruption ? limit_ : Seconds{};
        return ended(MigrationEnd::aborted, in_vain, in_vain);
    }

    [[nodiscard]] MigrationCourse without_progress() {
        const Seconds patience = settings_.progress;
        time_ = patience > Seconds::zero() ? patience : limit_;
        if (has_limit()) {
            time_ = std::min(time_, limit_);
        }
        return time_ > Seconds::zero() ? ended(MigrationEnd::aborted, {}, {}) : made_;
    }

    [[nodiscard]] MigrationCourse ended(MigrationEnd end, Seconds rest, Seconds downtime) {
        made_.end = end;
        made_.duration = whole(setup_ + time_ + rest);
        made_.downtime = whole(downtime);
        return made_;
    }
    [[nodiscard]] static std::chrono::milliseconds whole(Seconds time) {
        return std::chrono::ceil<std::chrono::milliseconds>(std::min<Seconds>(time, longest));
    }

    Assumption assumed_;
    const MigrationSettings& settings_;
    Seconds downtime_;
    Seconds limit_;  ///< zero: none
    Seconds setup_;
    Seconds time_;  ///< since the launcher was asked
    double whole_;  ///< more is never left
    double left_;
    unsigned hot_passes_ = 0;
    MigrationCourse made_;
};

double capped(std::uint64_t link, const MigrationSettings& settings) {
    const auto limit = bandwidth_limit(settings.bandwidth);
    const auto rate = static_cast<double>(link);
    return limit ? std::min(rate, static_cast<double>(*limit) * mebibyte) : rate;
}

}  // namespace

std::string_view to_string(MigrationEnd end) noexcept {
    switch (end) {
        case MigrationEnd::converged:
            return "converged";
        case MigrationEnd::post_copy:
            return "post-copy";
        case MigrationEnd::paused:
            return "paused";
        case MigrationEnd::aborted:
            return "aborted";
        case MigrationEnd::never:
            break;
    }
    return "never";
}

MigrationForecast forecast(const MigrationLoad& load, const MigrationSettings& settings,
                           std::optional<std::chrono::milliseconds> downtime) {
    const auto run = [&load, &settings, pause = downtime.value_or(default_downtime)](
                         std::uint64_t Range::* end, std::uint64_t link) {
        const Assumption assumed{.memory = static_cast<double>(load.memory.*end),
                                 .disks = static_cast<double>(load.disks.bytes.*end),
                                 .dirty_rate = static_cast<double>(load.dirty_rate.*end),
                                 .link = static_cast<double>(link),
                                 .bandwidth = capped(link, settings)};
        return Course(assumed, load, settings, pause).run();
    };
    return {.optimistic = run(&Range::least, load.bandwidth.most),
            .expected = run(&Range::likely, load.bandwidth.likely),
            .pessimistic = run(&Range::most, load.bandwidth.least)};
}

}  // namespace scout::migration
