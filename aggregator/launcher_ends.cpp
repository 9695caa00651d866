// SPDX-License-Identifier: Apache-2.0
#include "aggregator/launcher_ends.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <spdlog/spdlog.h>

#include "aggregator/watched_cause.h"
#include "base/logging.h"
#include "cluster/cause_facts.h"
#include "cluster/object_references.h"
#include "cluster/watched_records.h"

namespace scout::aggregator {
namespace {

using migration::Cause;
using namespace std::chrono_literals;

constexpr std::size_t most_endings = 4096;
/// Where more than these are to be judged at once, no Events are asked for: each asks three times.
constexpr std::size_t most_with_events = 200;
constexpr auto look_every = 1s;
constexpr auto look_idle = 60s;
constexpr std::chrono::milliseconds events_limit = 5s;
/// A migration from it that has not been told to have ended may be why it ended.
constexpr auto longest_move = 60s;
constexpr auto events_of_nodes = "default";
constexpr std::size_t most_told = 3;  ///< sentences of evidence

/// What people did not ask to be told: somebody wanted it.
bool is_wanted(Cause cause) {
    return cause == Cause::owner_delete || cause == Cause::guest_shutdown;
}

bool has_moved_to(const kube::Vmi* vmi, const kube::LauncherPod& pod) {
    return vmi != nullptr && vmi->migration && vmi->migration->completed &&
           !vmi->migration->failed && vmi->migration->target_pod == pod.meta.name;
}

std::string note_of(const kube::LauncherPod& pod, Cause cause,
                    const migration::CauseAnswer& answer) {
    auto note = "its launcher " + pod.meta.name +
                (pod.node.empty() ? std::string{} : " on " + pod.node.str()) +
                " ended: " + std::string{to_string(cause)} +
                (answer.resource.empty() ? std::string{} : ", " + answer.resource) +
                (answer.certain ? "" : " (not certain)");
    for (std::size_t i = 0; i < std::min(most_told, answer.evidence.size()); ++i) {
        note += "; " + answer.evidence[i];
    }
    return note;
}

}  // namespace

std::string_view end_word(std::size_t index) noexcept {
    constexpr auto causes = static_cast<std::size_t>(Cause::unknown) + 1;
    static_assert(std::tuple_size_v<EndCounters> == causes + 1);
    return index < causes ? to_string(static_cast<Cause>(index)) : "migration";
}

LauncherEnds::LauncherEnds(const asio::any_io_executor& loop, Sources sources, kube::Client& client,
                           const Clock& clock, std::chrono::milliseconds settle)
    : sources_(sources), clock_(clock), settle_(settle), told_(client), alarm_(loop) {
    sources_.launchers.on_change([this](const Change& change) { take_change(change); });
}

/// That it ends, or has: of what had ended before nothing new is to come. At the start all
/// launchers come at once, among them the sources of old migrations.
bool LauncherEnds::is_news(const Change& change) const {
    if (change.before && change.before->is_final()) {
        return false;
    }
    if (!change.now) {
        return true;
    }
    if (!change.before && change.found_by == kube::FoundBy::list && change.now->is_final()) {
        const auto ended = change.now->ended.value_or(clock_.wall());
        return change.now->ending != nullptr && ended + sources_.history.keep() > clock_.wall();
    }
    return change.now->is_final() || change.now->ending != nullptr;
}

void LauncherEnds::take_change(const Change& change) {
    const auto& pod = change.now ? change.now : change.before;
    auto found = endings_.find(pod->meta.uid);
    if (found == endings_.end()) {
        if (!is_news(change)) {
            return;
        }
        if (endings_.size() >= most_endings) {
            if (++left_out_ == 1) {
                spdlog::warn("more launchers end than are looked into most={}", most_endings);
            }
            return;
        }
        found = endings_.emplace(pod->meta.uid, Ending{}).first;
        found->second.silent =
            !change.before && change.found_by == kube::FoundBy::list && pod->is_final();
    }
    auto& ending = found->second;
    ending.pod = pod;
    ending.gone = !change.now;
    look_at_vmi(ending);
    if (!ending.ended && (ending.gone || pod->is_final())) {
        ending.ended = clock_.steady();
        ending.due = *ending.ended + settle_;
        ending.target = is_mere_target(ending);
        alarm_.ring();
    }
}

/// It goes sooner than its launcher is judged.
void LauncherEnds::look_at_vmi(Ending& ending) const {
    const auto& pod = *ending.pod;
    const auto vmi = sources_.vmis.find(pod.meta.space.view(), pod.vmi_name);
    if (vmi && vmi->meta.uid == pod.vmi_uid) {
        ending.vmi = vmi;
    }
}

/// Made for a migration that did not succeed; of one that is not there any more, where its VM is
/// tells it.
bool LauncherEnds::is_mere_target(const Ending& ending) const {
    const auto& pod = *ending.pod;
    if (pod.migration_uid.empty()) {
        return false;
    }
    if (const auto move = sources_.migrations.find_uid(pod.migration_uid)) {
        return move->phase != "Succeeded" && !has_moved_to(ending.vmi.get(), pod);
    }
    return ending.vmi && ending.vmi->node != pod.node;
}

bool LauncherEnds::still_moves(const Ending& ending, SteadyTime ended) const {
    const auto* const vmi = ending.vmi.get();
    return vmi != nullptr && vmi->migration && !vmi->migration->completed &&
           vmi->migration->source_pod == ending.pod->meta.name &&
           clock_.steady() < ended + longest_move;
}

std::vector<std::string> LauncherEnds::due() {
    std::vector<std::string> due;
    for (auto& [uid, ending] : endings_) {
        look_at_vmi(ending);
        if (ending.ended && clock_.steady() >= ending.due && !still_moves(ending, *ending.ended)) {
            due.push_back(uid);
        }
    }
    return due;
}

Task<> LauncherEnds::run() {
    for (;;) {
        const auto all = due();
        for (const auto& uid : all) {
            auto one = uid;
            co_await judge(std::move(one), all.size() <= most_with_events);
        }
        const std::chrono::milliseconds pause = endings_.empty() ? look_idle : look_every;
        const bool goes_on = co_await alarm_.wait(pause);
        if (!goes_on) {
            co_return;
        }
        sources_.history.expire(clock_.wall());
    }
}

Task<> LauncherEnds::judge(std::string uid, bool with_events) {
    const auto found = endings_.find(uid);
    if (found == endings_.end()) {
        co_return;
    }
    const auto ending = std::move(found->second);
    endings_.erase(found);
    if (ending.target) {
        co_return;
    }
    const WatchedObjects objects{.nodes = sources_.nodes, .vmis = sources_.vmis};
    auto records = records_around(objects, ending.pod.get(), ending.vmi.get());
    auto answer = answer_of(ending, records);
    // The deletion of a VM, of which there are most, is told by its objects.
    if (!answer.certain && with_events) {
        co_await add_events(&records, ending.pod.get());
        answer = answer_of(ending, records);
    }
    keep(ending, answer);
    tell(ending, answer);
}

/// What cannot be read is done without. Both outlive the call.
Task<> LauncherEnds::add_events(cluster::Records* records, const kube::LauncherPod* pod) {
    const auto space = pod->meta.space.str();
    std::vector<cluster::EventSubject> subjects;
    subjects.push_back({.kind = "Pod", .space = space, .name = pod->meta.name});
    subjects.push_back({.kind = "VirtualMachineInstance", .space = space, .name = pod->vmi_name});
    if (!pod->node.empty()) {
        subjects.push_back({.kind = "Node", .space = events_of_nodes, .name = pod->node.str()});
    }
    for (auto& subject : subjects) {
        auto events = co_await told_.about(std::move(subject), events_limit);
        if (!events) {
            if (++unread_ == 1) {
                spdlog::warn("Events cannot be read, so that less is known of ends reason={}",
                             log_value(events.error().message));
            }
            co_return;
        }
        std::move(events->begin(), events->end(), std::back_inserter(records->events));
    }
}

migration::CauseAnswer LauncherEnds::answer_of(const Ending& ending,
                                               const cluster::Records& records) const {
    auto facts = watched_facts({.nodes = sources_.nodes, .vmis = sources_.vmis}, records);
    facts.pod_deleting = facts.pod_deleting || (ending.gone && !ending.pod->is_final());
    return migration::find_cause(facts);
}

void LauncherEnds::keep(const Ending& ending, const migration::CauseAnswer& answer) {
    const auto& pod = *ending.pod;
    if (answer.cause) {
        sources_.history.put(KeptEnd{.space = pod.meta.space.str(),
                                     .vmi_name = pod.vmi_name,
                                     .vmi_uid = pod.vmi_uid,
                                     .pod = pod.meta.name,
                                     .pod_uid = pod.meta.uid,
                                     .node = pod.node.str(),
                                     .phase = pod.phase.str(),
                                     .ended = cluster::end_of(cluster::record_of(pod)),
                                     .answer = answer},
                             clock_.wall());
    }
}

void LauncherEnds::tell(const Ending& ending, const migration::CauseAnswer& answer) {
    if (ending.silent || !sources_.elector.leads()) {
        return;
    }
    ++counters_.at(answer.cause ? static_cast<std::size_t>(*answer.cause) : counters_.size() - 1);
    if (!answer.cause || is_wanted(*answer.cause)) {
        return;
    }
    const auto& pod = *ending.pod;
    sources_.events.record(
        {.regarding = cluster::vmi_reference(pod.meta.space.str(), pod.vmi_name, pod.vmi_uid),
         .related = kube::ObjectReference{.api_version = "v1",
                                          .kind = "Pod",
                                          .space = pod.meta.space.str(),
                                          .name = pod.meta.name,
                                          .uid = pod.meta.uid},
         .warning = true,
         .reason = "LauncherEnded",
         .action = "Record",
         .note = note_of(pod, *answer.cause, answer)});
}

}  // namespace scout::aggregator
