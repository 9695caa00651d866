// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cause_stories.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/watched_cause.h"
#include "base/duration.h"

namespace scout::aggregator {
namespace {

using Kind = Question::Kind;

void replace_all(std::string& text, const std::string& what, std::string_view by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
}

/// Where a VMI is, was and goes.
std::vector<std::string> nodes_of(const kube::Vmi* vmi) {
    std::vector<std::string> names;
    if (vmi != nullptr) {
        names.push_back(vmi->node.str());
    }
    if (vmi != nullptr && vmi->migration) {
        names.push_back(vmi->migration->source_node.str());
        names.push_back(vmi->migration->target_node.str());
    }
    return names;
}

/// Whether that end is the one of the VMI as it is. Without its pod: a VMI never starts anew.
bool is_end_of(const KeptEnd& end, const kube::Vmi& vmi, const kube::LauncherPod* pod) {
    return pod == nullptr ? end.vmi_uid == vmi.meta.uid : end.pod_uid == pod->meta.uid;
}

/// Their names stand in sentences too, also those of `more`.
void hide_nodes(cluster::CauseStory& story, std::vector<std::string> more) {
    constexpr std::string_view hidden = "(a node)";
    std::set<std::string, std::greater<>> names;  // a longer name before one that it begins with
    const auto hide = [&names](std::string& name) {
        if (!name.empty()) {
            names.insert(std::exchange(name, {}));
        }
    };
    hide(story.node);
    std::for_each(more.begin(), more.end(), hide);
    for (auto& move : story.moves) {
        hide(move.source);
        hide(move.target);
    }
    for (const auto& name : names) {
        for (auto& sentence : story.answer.evidence) {
            replace_all(sentence, name, hidden);
        }
        for (auto& move : story.moves) {
            replace_all(move.failure, name, hidden);
            replace_all(move.request.why, name, hidden);
        }
    }
}

}  // namespace

Result<cluster::CauseStory> CauseStories::tell(const Question& question) const {
    if (!sources_.vmis.synced() || !sources_.launchers.synced()) {
        return fail(Errc::unavailable, "VMIs and launchers have not been read yet");
    }
    for (const auto* reflector : {&sources_.vmis.reflector(), &sources_.launchers.reflector()}) {
        if (reflector->grows_stale()) {
            return fail(Errc::unavailable, reflector->trouble());
        }
    }
    auto story = question.kind == Kind::pod_why ? of_pod(question) : of_vmi(question);
    if (story && !question.may_see_nodes) {
        const auto slash = story->vmi.find('/') + 1;
        const auto vmi = sources_.vmis.find(question.space, story->vmi.substr(slash));
        hide_nodes(*story, nodes_of(vmi.get()));
    }
    return story;
}

/// Of one that runs and ends the cause is told, else the last end that is kept: for that all was
/// asked, of which objects alone tell less the longer it is over.
Result<cluster::CauseStory> CauseStories::of_vmi(const Question& question) const {
    cluster::CauseStory story;
    add_vm(story, question.space, question.name);
    const auto vmi = sources_.vmis.find(question.space, question.name);
    const auto* const end = sources_.history.last_end(question.space, question.name);
    if (vmi) {
        const auto pod = running_in(*vmi);
        const bool has_ended = pod == nullptr || pod->is_final();
        if (!has_ended || end == nullptr || !is_end_of(*end, *vmi, pod.get())) {
            judge_now(story, pod.get(), vmi.get());
        }
    } else if (end == nullptr && story.moves.empty()) {
        return fail(nothing_known(question));
    }
    if (end != nullptr && !story.answer.cause) {
        take_end(story, *end);
    }
    return story;
}

Result<cluster::CauseStory> CauseStories::of_pod(const Question& question) const {
    cluster::CauseStory story;
    const auto* const end = sources_.history.end_of_pod(question.space, question.name);
    const auto pod = sources_.launchers.find(question.space, question.name);
    if (end != nullptr) {
        add_vm(story, question.space, end->vmi_name);
        take_end(story, *end);
    } else if (pod) {
        add_vm(story, question.space, pod->vmi_name);
        const auto vmi = sources_.vmis.find(question.space, pod->vmi_name);
        judge_now(story, pod.get(), vmi.get());
    } else {
        return fail(nothing_known(question));
    }
    return story;
}

std::shared_ptr<const kube::LauncherPod> CauseStories::running_in(const kube::Vmi& vmi) const {
    for (const auto& active : vmi.active_pods) {
        auto pod = sources_.launchers.find_uid(active.uid);
        if (pod && pod->node == vmi.node) {
            return pod;
        }
    }
    return nullptr;
}

void CauseStories::add_vm(cluster::CauseStory& story, std::string_view space,
                          std::string_view name) const {
    story.vmi = std::string{space} + "/" + std::string{name};
    if (const auto vmi = sources_.vmis.find(space, name)) {
        story.vmi_phase = vmi->phase.str();
        story.node = vmi->node.str();
    }
    story.moves = sources_.history.moves(space, name);
}

void CauseStories::judge_now(cluster::CauseStory& story, const kube::LauncherPod* pod,
                             const kube::Vmi* vmi) const {
    if (pod != nullptr) {
        story.pod = pod->meta.name;
        story.pod_phase = pod->phase.str();
        story.node = pod->node.str();
        story.ended = pod->is_final() ? pod->ended : std::nullopt;
    }
    const WatchedObjects objects{.nodes = sources_.nodes, .vmis = sources_.vmis};
    story.answer = migration::find_cause(watched_facts(objects, records_around(objects, pod, vmi)));
}

void CauseStories::take_end(cluster::CauseStory& story, const KeptEnd& end) const {
    const auto pod = sources_.launchers.find(end.space, end.pod);
    story.pod = end.pod;
    story.pod_phase = pod ? pod->phase.str() : std::string{};
    story.node = end.node;
    story.ended = end.ended;
    story.answer = end.answer;
}

Error CauseStories::nothing_known(const Question& question) const {
    const auto keep = sources_.history.keep();
    return {Errc::not_found,
            std::string{question.kind == Kind::pod_why ? "no launcher " : "no VMI "} +
                question.space + "/" + question.name + " is there, and of none that was " +
                (keep.count() == 0 ? std::string{"anything is kept (spec.history.keep is 0s)"}
                                   : "in the last " + format_duration(keep) + " anything is kept")};
}

}  // namespace scout::aggregator
