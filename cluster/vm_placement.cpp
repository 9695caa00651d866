// SPDX-License-Identifier: Apache-2.0
#include "cluster/vm_placement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/judge_node.h"
#include "cluster/migration_numbers.h"
#include "cluster/node_state.h"
#include "cluster/vm_scheduling.h"
#include "migration/frozen_selectors.h"
#include "migration/label_profile.h"
#include "migration/target_pod.h"

namespace scout::cluster {
namespace {

using migration::Comparison;
using migration::Layer;
using migration::Reason;
using migration::ReasonCode;

/// Whether the pod runs the VMI now: one of a migration that is on its way does not.
bool runs(const kube::LauncherPod& pod, const kube::Vmi& vmi) {
    const bool of_vmi =
        vmi.meta.uid.empty() ? pod.vmi_name == vmi.meta.name : pod.vmi_uid == vmi.meta.uid;
    return of_vmi && !pod.is_final() && pod.meta.space == vmi.meta.space && pod.node == vmi.node;
}

/// Of two that run it, one is on its way out.
const kube::LauncherPod* later(const kube::LauncherPod* found, const kube::LauncherPod& pod) {
    return found == nullptr || (found->deletion && !pod.deletion) ? &pod : found;
}

/// Null if none is known.
const kube::LauncherPod* launcher_of(const Objects& objects, const kube::Vmi& vmi) {
    const kube::LauncherPod* found = nullptr;
    for (const auto& pod : objects.launchers) {
        found = runs(pod, vmi) ? later(found, pod) : found;
    }
    return found;
}

/// Its model, or what the creation webhook would have filled in (dossier §5.3).
std::string cpu_model_of(const kube::Vmi& vmi, const kube::KubeVirt* kubevirt) {
    if (!vmi.cpu_model.empty()) {
        return vmi.cpu_model.str();
    }
    if (vmi.architecture == "arm64") {
        return "host-passthrough";
    }
    const bool configured = kubevirt != nullptr && !kubevirt->cpu_model.empty();
    return configured ? kubevirt->cpu_model.str() : "host-model";
}

void add_features(const kube::Vmi& vmi, migration::MovingVm& vm) {
    for (const auto& feature : vmi.cpu_features) {
        const auto policy = feature.policy.view();
        auto& list = policy == "optional"  ? vm.optional
                     : policy == "disable" ? vm.disabled
                     : policy == "forbid"  ? vm.forbidden
                                           : vm.required;
        list.push_back(feature.name.str());
    }
    for (auto* list : {&vm.required, &vm.optional, &vm.disabled, &vm.forbidden}) {
        *list = migration::make_feature_set(std::move(*list));
    }
}

/// `launcher` and `node`: its own, null if they are not known.
migration::MovingVm moving_vm(const Objects& objects, const kube::Vmi& vmi,
                              const kube::LauncherPod* launcher, const kube::Node* node) {
    const auto* kubevirt = kubevirt_in_force(objects.kubevirts);
    migration::MovingVm vm;
    vm.node = vmi.node.str();
    if (kubevirt != nullptr) {
        vm.cluster_selectors = plain_labels(kubevirt->node_selectors);
    }
    vm.vm_selectors = plain_labels(vmi.node_selector);
    vm.arch = vmi.architecture.str();
    vm.machine_type = vmi.machine.empty() ? vmi.machine_asked.str() : vmi.machine.str();
    vm.cpu_model = cpu_model_of(vmi, kubevirt);
    add_features(vmi, vm);
    if (vmi.tsc_hz && *vmi.tsc_hz > 0) {
        vm.tsc_hz = static_cast<std::uint64_t>(*vmi.tsc_hz);
    }
    const auto* emulation = kube::find_condition(vmi.conditions, "SoftwareEmulation");
    vm.emulated = emulation != nullptr && emulation->status == "True";
    vm.moved = launcher != nullptr ? !launcher->migration_uid.empty() : vmi.migration.has_value();
    if (launcher != nullptr) {
        vm.pod = plain_labels(launcher->node_selector);
    }
    if (node != nullptr) {
        vm.source = plain_labels(node->labels);
    }
    return vm;
}

/// What of its specification ties it to nodes and is not looked at, by the names of the fields. A
/// launcher shows the labels and the devices that some of them come to.
std::vector<std::string> other_demands(const kube::Vmi& vmi, bool scheduling_known,
                                       bool resources_known) {
    constexpr std::array<std::string_view, 3> of_scheduler{"nodeAffinity", "podAffinity",
                                                           "podAntiAffinity"};
    std::vector<std::string> out;
    for (const auto& field : vmi.other_demands) {
        const bool affinity =
            std::find(of_scheduler.begin(), of_scheduler.end(), field) != of_scheduler.end();
        const bool judged = scheduling_known && (affinity || resources_known);
        if (!judged) {
            out.push_back(field);
        }
    }
    return out;
}

/// Asks node after node about one VMI. Refers to all that it is given.
class Search {
public:
    Search(const Objects& objects, const kube::Vmi& vmi, const kube::LauncherPod* launcher,
           const migration::MovingVm& moving, const migration::CpuMap* map,
           const SchedulingView* view)
        : objects_(objects),
          pod_(migration::target_pod(moving)),
          cpu_(migration::assumed_guest(moving, pod_, map)),
          guest_(migration::prepare(cpu_, pod_.stock, map)),
          blocked_(why_not_movable(vmi)),
          map_(map) {
        if (objects.scheduling != nullptr && !blocked_) {
            if (view == nullptr || view->has_target_of(vmi)) {
                view = &own_view_.emplace(objects, vmi);
            }
            scheduling_.emplace(*view, vmi, launcher, pod_);
        }
        not_judged_ = other_demands(vmi, scheduling_.has_value(),
                                    scheduling_ && scheduling_->knows_resources());
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    Search(Search&&) = delete;
    Search& operator=(Search&&) = delete;
    ~Search() = default;

    /// The node at that place.
    [[nodiscard]] Comparison ask(std::size_t at, WallTime now) const {
        // What holds for every node is the answer for each, whatever else would be.
        if (blocked_) {
            Comparison answer;
            migration::refuse(answer, *blocked_);
            return answer;
        }
        const auto& node = objects_.nodes.at(at);
        auto state = node_state(node, now);
        state.cordoned = state.cordoned && !(scheduling_ && scheduling_->tolerates_cordons());
        const auto chosen = node_profile(node, state.stock, objects_);
        auto answer = judge_node(guest_, node, state, chosen, map_);
        if (is_of_kubevirt(node)) {
            migration::apply(pod_, state.labels, answer);
            if (pod_.term) {
                migration::apply(*pod_.term, state.labels, node.meta.name, answer);
            }
            if (scheduling_) {
                scheduling_->judge(at, answer);
            }
        }
        if (!not_judged_.empty() && answer.gate != migration::Verdict::cannot) {
            migration::leave_open(answer, {.code = ReasonCode::not_comparable,
                                           .layer = Layer::stock,
                                           .text = "the VMI asks for what is not judged here: " +
                                                   migration::join(not_judged_),
                                           .keys = not_judged_});
        }
        return answer;
    }
    [[nodiscard]] const migration::TargetPod& pod() const noexcept { return pod_; }
    [[nodiscard]] const migration::GuestCpu& cpu() const noexcept { return cpu_; }
    [[nodiscard]] const std::optional<Reason>& blocked() const noexcept { return blocked_; }
    [[nodiscard]] std::vector<std::string> scheduling_notes() const {
        return scheduling_ ? scheduling_->notes()
                           : std::vector<std::string>{
                                 "affinity, taints other than a cordon's, and "
                                 "free resources are not judged"};
    }

private:
    const Objects& objects_;
    migration::TargetPod pod_;
    migration::GuestCpu cpu_;
    migration::PreparedGuest guest_;
    std::optional<Reason> blocked_;
    const migration::CpuMap* map_;
    std::optional<SchedulingView> own_view_;
    std::optional<VmScheduling> scheduling_;
    std::vector<std::string> not_judged_;  ///< of its specification
};

/// Why no node has the frozen selectors, if none has.
std::optional<std::string> frozen_note(const Objects& objects, const migration::MovingVm& vm) {
    if (!vm.pod || vm.cpu_model != "host-model") {
        return std::nullopt;
    }
    const auto labelled = labelled_nodes(objects.nodes);
    auto found = migration::judge_frozen_selectors(
        {.selectors = *vm.pod, .node = vm.node, .live_features = std::nullopt}, labelled.nodes);
    const bool fine = found.state == migration::FrozenState::not_frozen ||
                      found.state == migration::FrozenState::fits;
    return fine ? std::nullopt : std::optional{std::move(found.text)};
}

std::optional<std::string> underway_note(const Objects& objects, const kube::Vmi& vmi) {
    for (const auto& migration : objects.migrations) {
        if (migration.vmi_name == vmi.meta.name && migration.meta.space == vmi.meta.space &&
            !migration.is_final()) {
            const auto phase = migration.phase.empty() ? "not begun" : migration.phase.str();
            const bool has_target =
                vmi.migration && !vmi.migration->completed && !vmi.migration->target_node.empty();
            return "migration " + migration.meta.name + " is under way (" + phase +
                   (has_target ? ", to " + vmi.migration->target_node.str() : "") +
                   "): KubeVirt takes no other until it has ended";
        }
    }
    return std::nullopt;
}

std::vector<std::string> notes_of(const Objects& objects, const kube::Vmi& vmi,
                                  const migration::MovingVm& vm, const Search& search) {
    std::vector<std::string> notes;
    if (auto underway = underway_note(objects, vmi)) {
        notes.push_back(std::move(*underway));
    }
    if (auto frozen = frozen_note(objects, vm)) {
        notes.push_back(std::move(*frozen));
    }
    const auto& of_pod = search.pod().notes;
    notes.insert(notes.end(), of_pod.begin(), of_pod.end());
    if (vm.cpu_model == "host-model" && search.cpu().doubt.empty()) {
        notes.push_back("the guest's CPU is taken to be " + search.cpu().model +
                        ", as its selectors or the labels of " + vm.node +
                        " name it; what it really has, only its live XML tells");
    }
    for (auto& note : search.scheduling_notes()) {
        notes.push_back(std::move(note));
    }
    if (auto devices = migration::not_judged(search.cpu()); !devices.empty()) {
        notes.push_back(std::move(devices));
    }
    if (auto copied = copied_disks_text(vmi); !copied.empty()) {
        notes.push_back(std::move(copied));
    }
    return notes;
}

}  // namespace

std::optional<Reason> why_not_movable(const kube::Vmi& vmi) {
    Reason reason{.code = ReasonCode::not_running, .layer = Layer::stock, .text = {}, .keys = {}};
    if (vmi.phase != "Running") {
        reason.text = "the VMI does not run: its phase is " +
                      (vmi.phase.empty() ? "not set yet" : vmi.phase.str());
        return reason;
    }
    if (vmi.deletion) {
        reason.text = "the VMI is being deleted";
        return reason;
    }
    const auto* movable = kube::find_condition(vmi.conditions, "LiveMigratable");
    if (movable == nullptr || movable->status != "False") {
        return std::nullopt;
    }
    reason.code = ReasonCode::not_migratable;
    reason.text = "KubeVirt says that the VMI is not migratable: " + movable->reason.str() +
                  (movable->message.empty() ? "" : " (" + movable->message.str() + ")");
    reason.keys = {movable->reason.str()};
    return reason;
}

migration::Placement place_vmi(const Objects& objects, const kube::Vmi& vmi, WallTime now,
                               const migration::CpuMap* map, const migration::MoveWish& wish,
                               const SchedulingView* view) {
    const auto own = find_node(objects, vmi.node.view());
    const auto* launcher = launcher_of(objects, vmi);
    auto vm = moving_vm(objects, vmi, launcher, own ? *own : nullptr);
    vm.added = wish.added;
    vm.term = wish.term;
    const Search search(objects, vmi, launcher, vm, map, view);
    const auto& blocked = search.blocked();
    const bool runs = !blocked || blocked->code != ReasonCode::not_running;
    migration::Placement placement;
    placement.subject = full_name(vmi.meta);
    placement.source = vm.node;
    for (std::size_t i = 0; i < objects.nodes.size(); ++i) {
        const auto& name = objects.nodes[i].meta.name;
        if (name != vm.node) {
            placement.nodes.push_back({.node = name, .comparison = search.ask(i, now)});
        }
    }
    if (runs) {
        placement.notes = notes_of(objects, vmi, vm, search);
    }
    return placement;
}

migration::Labels own_selectors(const Objects& objects, const kube::Vmi& vmi) {
    const auto own = find_node(objects, vmi.node.view());
    const auto vm = moving_vm(objects, vmi, launcher_of(objects, vmi), own ? *own : nullptr);
    auto pod = migration::target_pod(vm);
    pod.stock.vendors.clear();
    return migration::selectors_of(pod);
}

MovingVms::MovingVms(const Objects& objects) : objects_(objects) {
    for (const auto& pod : objects.launchers) {
        launchers_.emplace(pod.vmi_name, &pod);
    }
    for (const auto& node : objects.nodes) {
        nodes_.emplace(node.meta.name, &node);
    }
}

migration::MovingVm MovingVms::without_source(const kube::Vmi& vmi) const {
    const kube::LauncherPod* launcher = nullptr;
    const auto [begin, end] = launchers_.equal_range(vmi.meta.name);
    for (auto each = begin; each != end; ++each) {
        launcher = runs(*each->second, vmi) ? later(launcher, *each->second) : launcher;
    }
    return moving_vm(objects_, vmi, launcher, nullptr);
}

std::optional<migration::Labels> MovingVms::labels_of(std::string_view node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? std::nullopt
                                 : std::optional{plain_labels(found->second->labels)};
}

bool MovingVms::goes_by_node(const kube::Vmi& vmi) const {
    auto vm = without_source(vmi);
    vm.source = labels_of(vmi.node.view());
    return vm.cpu_model == "host-model" && !migration::target_pod(vm).frozen;
}

}  // namespace scout::cluster
