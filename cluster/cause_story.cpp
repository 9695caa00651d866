// SPDX-License-Identifier: Apache-2.0
#include "cluster/cause_story.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/edit_distance.h"
#include "cluster/cause_facts.h"
#include "cluster/launcher_names.h"
#include "cluster/name_list.h"
#include "cluster/unseen_end.h"
#include "cluster/vm_placement.h"

namespace scout::cluster {
namespace {

/// What is asked about.
struct Subject {
    std::string space;
    std::string vmi_name;
    std::string pod;  ///< only this launcher; empty: the VM

    friend auto operator<=>(const Subject&, const Subject&) = default;

    [[nodiscard]] std::string vmi() const {
        return space.empty() ? vmi_name : space + "/" + vmi_name;
    }
};

/// The VM that is asked about by its name; nothing tells it from its launcher alone.
std::string_view long_name(std::string_view space, std::string_view asked) {
    const auto slash = asked.find('/');
    const bool elsewhere = slash != std::string_view::npos && asked.substr(0, slash) != space;
    const auto name = asked.substr(slash == std::string_view::npos ? 0 : slash + 1);
    return is_cut_in_launchers(name) && !elsewhere ? name : std::string_view{};
}

bool is_called(std::string_view space, std::string_view own, std::string_view uid,
               std::string_view asked) {
    return asked == own || (!uid.empty() && asked == uid) ||
           (asked.size() == space.size() + 1 + own.size() && asked.starts_with(space) &&
            asked[space.size()] == '/' && asked.ends_with(own));
}

/// Of what is gone.
std::optional<Subject> subject_of_event(const Records& records, const kube::SeenEvent& event,
                                        std::string_view asked) {
    const auto space = event.space.str();
    const auto name = event.name.str();
    if (event.kind == "VirtualMachineInstance") {
        return is_called(space, name, {}, asked) ? std::optional{Subject{space, name, {}}}
                                                 : std::nullopt;
    }
    if (event.kind != "Pod") {
        return std::nullopt;
    }
    const auto cut = long_name(space, asked);
    const auto vm =
        !cut.empty() && is_launcher_of(name, cut) ? std::string{cut} : vm_of_launcher(name);
    const bool by_vm = !vm.empty() && (vm == cut || is_called(space, vm, {}, asked));
    const bool by_pod = !vm.empty() && is_called(space, name, {}, asked);
    if ((!by_vm && !by_pod) || is_of_another(records, event, vm)) {
        return std::nullopt;
    }
    return Subject{space, vm, by_vm ? std::string{} : name};
}

/// All that bear the name, the first kind that has any: VMIs, pods, VMs whose pods are left, then
/// what Events alone tell of.
std::set<Subject> subjects(const Records& records, std::string_view asked) {
    std::set<Subject> found;
    for (const auto& vmi : records.vmis) {
        if (is_called(vmi.meta.space.view(), vmi.meta.name, vmi.meta.uid, asked)) {
            found.insert({.space = vmi.meta.space.str(), .vmi_name = vmi.meta.name, .pod = {}});
        }
    }
    for (const auto& pod : records.launchers) {
        if (found.empty() && is_called(pod.meta.space.view(), pod.meta.name, pod.meta.uid, asked)) {
            return {
                {.space = pod.meta.space.str(), .vmi_name = pod.vmi_name, .pod = pod.meta.name}};
        }
    }
    if (!found.empty()) {
        return found;
    }
    for (const auto& pod : records.launchers) {
        if (is_called(pod.meta.space.view(), pod.vmi_name, pod.vmi_uid, asked)) {
            found.insert({.space = pod.meta.space.str(), .vmi_name = pod.vmi_name, .pod = {}});
        }
    }
    if (!found.empty()) {
        return found;
    }
    for (const auto& event : records.events) {
        if (auto subject = subject_of_event(records, event, asked)) {
            found.insert(std::move(*subject));
        }
    }
    return found;
}

Error no_such_vm(const Records& records, std::string_view asked) {
    std::vector<std::string> names;
    const bool whole = asked.find('/') != std::string_view::npos;
    const auto add = [&names, whole](const kube::ObjectMeta& meta) {
        names.push_back(whole ? full_name(meta) : meta.name);
    };
    for (const auto& vmi : records.vmis) {
        add(vmi.meta);
    }
    for (const auto& pod : records.launchers) {
        add(pod.meta);
    }
    const auto near = nearest(std::string{asked}, names);
    return {Errc::not_found, "no VMI, launcher pod or Event of one is called '" +
                                 std::string{asked} + "'" +
                                 (near.empty() ? std::string{} : "; did you mean '" + near + "'?")};
}

Result<Subject> subject_of(const Records& records, std::string_view asked) {
    const auto found = subjects(records, asked);
    if (found.empty()) {
        return fail(no_such_vm(records, asked));
    }
    if (found.size() > 1) {
        std::vector<std::string> names;
        names.reserve(found.size());
        for (const auto& each : found) {
            names.push_back(each.vmi());
        }
        const auto all = names.size();
        names.resize(std::min<std::size_t>(all, 10));
        return fail(Errc::invalid, "several VMs are called '" + std::string{asked} + "': " +
                                       name_list(names, all) + "; name one as NAMESPACE/NAME");
    }
    return *found.begin();
}

/// Its launchers whose pods are there, the youngest first.
std::vector<LauncherSeen> launchers_there(const Records& records, const Subject& subject,
                                          const kube::VmiRecord* vmi) {
    std::vector<LauncherSeen> launchers;
    for (const auto& pod : records.launchers) {
        if (pod.meta.space == subject.space && pod.vmi_name == subject.vmi_name &&
            (subject.pod.empty() ? !is_mere_target(records, pod, vmi)
                                 : pod.meta.name == subject.pod)) {
            launchers.push_back({.space = subject.space,
                                 .name = pod.meta.name,
                                 .vmi_name = subject.vmi_name,
                                 .pod = &pod});
        }
    }
    std::stable_sort(launchers.begin(), launchers.end(), [](const auto& a, const auto& b) {
        return a.pod->creation > b.pod->creation;
    });
    return launchers;
}

/// Those that are known by Events alone, the latest first.
void add_gone(const Records& records, const Subject& subject,
              std::vector<LauncherSeen>& launchers) {
    std::vector<const kube::SeenEvent*> events;
    for (const auto& event : records.events) {
        if (event.kind == "Pod" && event.space == subject.space &&
            is_launcher_of(event.name.view(), subject.vmi_name) &&
            (subject.pod.empty() || event.name == subject.pod) &&
            !is_of_another(records, event, subject.vmi_name)) {
            events.push_back(&event);
        }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const auto* a, const auto* b) { return a->at > b->at; });
    std::set<std::string> known;
    for (const auto& launcher : launchers) {
        known.insert(launcher.name);
    }
    const auto other =
        events.empty() ? std::string{} : namesake(records, subject.space, subject.vmi_name);
    for (const auto* event : events) {
        if (known.insert(event->name.str()).second) {
            launchers.push_back({.space = subject.space,
                                 .name = event->name.str(),
                                 .vmi_name = subject.vmi_name,
                                 .pod = nullptr,
                                 .perhaps_of = other});
        }
    }
}

std::vector<LauncherSeen> launchers_of(const Records& records, const Subject& subject,
                                       const kube::VmiRecord* vmi) {
    auto launchers = launchers_there(records, subject, vmi);
    add_gone(records, subject, launchers);
    return launchers;
}

const kube::VmiRecord* vmi_of(const Records& records, const Subject& subject) {
    const auto found = std::find_if(
        records.vmis.begin(), records.vmis.end(), [&subject](const kube::VmiRecord& vmi) {
            return vmi.meta.space == subject.space && vmi.meta.name == subject.vmi_name;
        });
    return found == records.vmis.end() ? nullptr : &*found;
}

void tell(CauseStory& story, const LauncherSeen& launcher, migration::CauseAnswer answer) {
    story.pod = launcher.name;
    story.node = launcher.pod == nullptr ? std::string{} : launcher.pod->node.str();
    story.pod_phase = launcher.pod == nullptr ? std::string{} : launcher.pod->phase.str();
    story.ended = launcher.pod == nullptr ? std::nullopt : end_of(*launcher.pod);
    story.answer = std::move(answer);
}

/// The launcher to speak of: the one that the VMI runs in first, then the others.
void tell_launcher(CauseStory& story, const Records& records, const Subject& subject,
                   const kube::VmiRecord* vmi) {
    auto launchers = launchers_of(records, subject, vmi);
    std::stable_partition(launchers.begin(), launchers.end(), [vmi](const LauncherSeen& each) {
        return vmi != nullptr && each.pod != nullptr && each.pod->node == vmi->node &&
               each.pod->vmi_uid == vmi->meta.uid && each.pod->phase == "Running";
    });
    const LauncherSeen none{
        .space = subject.space, .name = {}, .vmi_name = subject.vmi_name, .pod = nullptr};
    const auto* told = &none;
    for (const auto& launcher : launchers) {
        auto answer = migration::find_cause(cause_facts(records, launcher, vmi));
        const bool gone = launcher.pod == nullptr;  // and perhaps a target that never ran
        const bool has_cause = answer.cause && !(gone && answer.cause == migration::Cause::unknown);
        if (!has_cause && (told != &none || (gone && subject.pod.empty()))) {
            continue;
        }
        tell(story, launcher, std::move(answer));
        told = &launcher;
        if (has_cause) {
            return;
        }
    }
    if (told == &none) {
        story.node = vmi == nullptr ? std::string{} : vmi->node.str();
    }
    auto facts = cause_facts(records, *told, vmi);
    if (subject.pod.empty() && vmi != nullptr) {
        auto unseen = unseen_end(records, *vmi, launchers);
        facts.unseen = std::move(unseen.why);
        facts.perhaps_unseen = std::move(unseen.perhaps);
    }
    story.answer = migration::find_cause(facts);
}

/// Of marks only those for which no migration runs: one that waits may do so for long.
std::string left_mark(const Records& records, const kube::VmiRecord& vmi) {
    const bool moves =
        (vmi.move && vmi.move->is_under_way()) ||
        std::any_of(records.moves.begin(), records.moves.end(), [&vmi](const auto& move) {
            return move.meta.space == vmi.meta.space && move.vmi_name == vmi.meta.name &&
                   !move.is_final() && !move.phase.empty() && move.phase != "Pending";
        });
    return moves ? std::string{} : vmi.evacuation_node.str();
}

std::vector<PastMove> past_moves(const Records& records, const Subject& subject,
                                 const kube::VmiRecord* vmi) {
    std::vector<const kube::MoveRecord*> moves;
    for (const auto& move : records.moves) {
        if (move.meta.space == subject.space && move.vmi_name == subject.vmi_name) {
            moves.push_back(&move);
        }
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const auto* a, const auto* b) { return a->creation > b->creation; });
    moves.resize(std::min(moves.size(), most_past_moves));
    std::vector<PastMove> past;
    past.reserve(moves.size());
    for (const auto* move : moves) {
        past.push_back(past_move(records, *move, vmi));
    }
    return past;
}

}  // namespace

PastMove past_move(const Records& records, const kube::MoveRecord& move, const kube::VmiRecord* vmi,
                   bool told_to_stop) {
    PastMove past;
    past.name = move.meta.name;
    past.phase = move.phase.str();
    past.created = move.creation;
    if (move.state) {
        past.mode = move.state->mode.str();
        past.source = move.state->source_node.str();
        past.target = move.state->target_node.str();
        past.failure = move.state->failure.str();
    }
    if (past.source.empty() && move.evacuation) {
        past.source = move.evacuation->str();
    }
    past.ended = kube::final_time(move.phases);
    past.request = requester_of(records, move, vmi, told_to_stop);
    return past;
}

Result<CauseStory> find_story(const Records& records, std::string_view name) {
    const auto subject = subject_of(records, name);
    if (!subject) {
        return fail(subject.error());
    }
    const auto* vmi = vmi_of(records, *subject);
    CauseStory story;
    story.vmi = subject->vmi();
    if (vmi != nullptr) {
        story.vmi_phase = vmi->phase.str();
        story.mark = left_mark(records, *vmi);
    }
    tell_launcher(story, records, *subject, vmi);
    story.moves = past_moves(records, *subject, vmi);
    story.acts = own_acts(records, subject->space, subject->vmi_name);
    return story;
}

}  // namespace scout::cluster
