// SPDX-License-Identifier: Apache-2.0
#include "launcher/launcher_table.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace scout::launcher {
namespace {

using hypervisor::GuestState;

/// Marks that are found so soon one after the other may be of one moment. Who evicts a whole node
/// has virt-handler ask about hundreds, and that takes it seconds.
constexpr std::chrono::seconds of_one_cause{15};

bool is_ready(const Launcher& launcher) noexcept {
    return launcher.socket.state == SocketState::ready;
}

/// Of two launchers with one guest the higher one counts.
int liveness(const Launcher& launcher, const Domain& domain) {
    if (!launcher.unknown_because().empty()) {
        return 0;
    }
    return !is_alive(domain) ? 1 : domain.status == "Running" ? 3 : 2;
}

GuestState guest_of(const Launcher& launcher, const Domain& domain) {
    GuestState guest;
    guest.uuid = domain.uuid;
    guest.name = domain.space + "/" + domain.name;
    const bool known = launcher.unknown_because().empty();
    guest.state = known ? state_word(domain) : hypervisor::state_unknown;
    guest.persistent = false;  // the definition goes with the launcher
    guest.memory_kib = domain.memory_kib;
    guest.cpu = domain.cpu;
    guest.cpu_error = domain.cpu_error;
    return guest;
}

/// The next call; one that somebody waits for is due already.
void ask_again(Launcher& launcher, SteadyTime now, std::chrono::milliseconds pause) {
    launcher.due = launcher.hurried ? now : now + pause;
}

bool is_busy(const std::optional<Domain>& domain) {
    return domain && (domain->marked || migration_in_progress(*domain) || is_not_yet_here(*domain));
}

/// A domain that can be told apart from others.
Status check_identity(const Domain& domain) {
    if (domain.uuid.empty() || domain.space.empty() || domain.name.empty()) {
        return fail(Errc::invalid,
                    "domain: expected its UUID, namespace and name, found one of them empty");
    }
    return {};
}

}  // namespace

std::string Launcher::unknown_because() const {
    switch (socket.state) {
        case SocketState::starting:
            return answered ? "its socket is gone" : "it is not ready yet";
        case SocketState::unresponsive:
            return "virt-handler found that it does not respond";
        case SocketState::foreign:
            return "what lies under the name of its socket is no socket";
        case SocketState::ready:
            break;
    }
    if (misses < misses_until_unknown) {
        return {};
    }
    return fault.empty() ? "it does not answer" : fault;
}

bool LauncherTable::found(const std::vector<LauncherSocket>& sockets, SteadyTime now) {
    bool changed = false;
    std::map<std::string, Launcher, std::less<>> left;
    left.swap(launchers_);
    for (const auto& socket : sockets) {
        const auto known = left.find(socket.pod_uid);
        if (known == left.end()) {
            launchers_.emplace(socket.pod_uid, Launcher{.socket = socket, .due = now});
            continue;
        }
        auto launcher = std::move(known->second);
        left.erase(known);
        if (launcher.socket != socket) {
            launcher.socket = socket;
            launcher.due = now;
            launcher.misses = 0;
            launcher.asking = false;
            launcher.asked = SteadyTime::min();
            changed = true;
        }
        launchers_.emplace(socket.pod_uid, std::move(launcher));
    }
    return changed || !left.empty();
}

bool LauncherTable::has_place(const Launcher& launcher) const noexcept {
    if (launcher.hurried) {
        return hurried_asked_ < policy_.hurried_at_once;
    }
    return asking_ < policy_.at_once &&
           (launcher.misses == 0 || failing_asked_ < policy_.failing_at_once);
}

std::vector<Question> LauncherTable::take_due(SteadyTime now) {
    std::vector<Launcher*> due;
    for (auto& [pod, launcher] : launchers_) {
        if (is_ready(launcher) && !launcher.asking && launcher.due <= now) {
            due.push_back(&launcher);
        }
    }
    std::stable_sort(due.begin(), due.end(),
                     [](const auto* a, const auto* b) { return a->due < b->due; });
    std::vector<Question> taken;
    for (auto* launcher : due) {
        if (!has_place(*launcher)) {
            continue;
        }
        const bool failing = launcher->misses > 0;
        const bool hurried = std::exchange(launcher->hurried, false);
        launcher->asking = true;
        ++(hurried ? hurried_asked_ : asking_);
        failing_asked_ += failing && !hurried ? 1 : 0;
        taken.push_back(
            {.socket = launcher->socket, .failing = failing, .hurried = hurried, .begun = now});
    }
    return taken;
}

SteadyTime LauncherTable::next_due() const {
    auto next = SteadyTime::max();
    for (const auto& [pod, launcher] : launchers_) {
        if (is_ready(launcher) && !launcher.asking && has_place(launcher)) {
            next = std::min(next, launcher.due);
        }
    }
    return next;
}

void LauncherTable::hurry(std::string_view pod_uid, SteadyTime now) {
    const auto found = launchers_.find(pod_uid);
    if (found != launchers_.end()) {
        found->second.hurried = true;
        found->second.due = now;
    }
}

bool LauncherTable::asked_since(std::string_view pod_uid, SteadyTime then) const {
    const auto found = launchers_.find(pod_uid);
    return found == launchers_.end() || !is_ready(found->second) || found->second.asked >= then;
}

void LauncherTable::ask_all(SteadyTime now) {
    for (auto& [pod, launcher] : launchers_) {
        launcher.due = now;
    }
}

bool LauncherTable::answered(const Question& question, Result<std::optional<Domain>> answer,
                             SteadyTime now) {
    --(question.hurried ? hurried_asked_ : asking_);
    failing_asked_ -= question.failing && !question.hurried ? 1 : 0;
    const auto found = launchers_.find(question.socket.pod_uid);
    if (found == launchers_.end() || found->second.socket != question.socket) {
        return false;
    }
    auto& launcher = found->second;
    const auto before = launcher.unknown_because();
    launcher.asking = false;
    launcher.asked = question.begun;
    if (answer) {
        const auto& domain = *answer;
        if (auto identity = domain ? check_identity(*domain) : Status{}; !identity) {
            answer = fail(std::move(identity.error()));
        }
    }
    if (!answer) {
        ++launcher.misses;
        launcher.fault = std::move(answer.error().message);
        ask_again(launcher, now,
                  launcher.misses < misses_until_unknown ? policy_.retry : policy_.poll);
        return launcher.unknown_because().empty() != before.empty();
    }
    launcher.answered = true;
    launcher.misses = 0;
    launcher.fault.clear();
    const bool changed = !before.empty() || launcher.domain != *answer;
    launcher.domain = *std::move(answer);
    date_mark(launcher, question);
    ask_again(launcher, now, is_busy(launcher.domain) ? policy_.poll_busy : policy_.poll);
    if (changed && launcher.domain && has_moved_away(*launcher.domain)) {
        hurry_twins(launcher, now);
    }
    return changed;
}

void LauncherTable::date_mark(Launcher& launcher, const Question& question) {
    if (!launcher.domain || !launcher.domain->marked) {
        launcher.unmarked = question.begun;
        return;
    }
    if (launcher.marked_since) {
        return;
    }
    const bool was_asked_about = question.hurried || launcher.hurried;
    auto since = was_asked_about ? question.begun : launcher.unmarked.value_or(question.begun);
    if (!last_found_ || question.begun - *last_found_ > of_one_cause) {
        first_of_all_ = since;
        ask_all(question.begun);
    } else if (!launcher.unmarked || *launcher.unmarked <= first_of_all_) {
        since = first_of_all_;
    }
    last_found_ = question.begun;
    launcher.marked_since = since;
}

/// A guest that left one launcher of this node may run in another one here: so that it is not
/// missed meanwhile, that one is asked at once.
void LauncherTable::hurry_twins(const Launcher& left, SteadyTime now) {
    for (auto& [pod, launcher] : launchers_) {
        if (&launcher != &left && launcher.domain && left.domain &&
            launcher.domain->uuid == left.domain->uuid) {
            launcher.due = std::min(launcher.due, now);
        }
    }
}

std::vector<GuestState> LauncherTable::guests() const {
    std::map<std::string_view, std::pair<const Launcher*, const Domain*>> best;
    for (const auto& [pod, launcher] : launchers_) {
        if (!launcher.domain || is_not_yet_here(*launcher.domain) ||
            has_moved_away(*launcher.domain)) {
            continue;
        }
        const auto& domain = *launcher.domain;
        const auto [other, first] = best.try_emplace(domain.uuid, &launcher, &domain);
        if (!first &&
            liveness(launcher, domain) > liveness(*other->second.first, *other->second.second)) {
            other->second = {&launcher, &domain};
        }
    }
    std::vector<GuestState> guests;
    guests.reserve(best.size());
    for (const auto& [uuid, found] : best) {
        guests.push_back(guest_of(*found.first, *found.second));
    }
    return guests;
}

bool LauncherTable::all_asked_since(SteadyTime then) const {
    return std::all_of(launchers_.begin(), launchers_.end(), [then](const auto& each) {
        return !is_ready(each.second) || each.second.asked >= then;
    });
}

}  // namespace scout::launcher
