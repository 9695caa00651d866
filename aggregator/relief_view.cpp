// SPDX-License-Identifier: Apache-2.0
#include "aggregator/relief_view.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "aggregator/kubevirts.h"
#include "cluster/migration_numbers.h"
#include "cluster/objects.h"
#include "cluster/relief_facts.h"

namespace scout::aggregator {
namespace {

using std::chrono::milliseconds;

/// "namespace/name" of the VMI.
std::string key_of(const kube::Migration& move) {
    return move.meta.space.str() + "/" + move.vmi_name.str();
}

void take_least(std::optional<milliseconds>& target, milliseconds value) {
    target = std::min(target.value_or(value), value);
}

}  // namespace

milliseconds between(SteadyTime before, SteadyTime now) {
    return std::max(milliseconds{0}, std::chrono::floor<milliseconds>(now - before));
}

struct ReliefView::Moves {
    struct OfNode {
        std::size_t leaving = 0;
        std::size_t begun = 0;
        std::optional<milliseconds> ended;
    };
    std::size_t all = 0;  ///< that have not ended
    std::map<std::string, OfNode, std::less<>> nodes;
    std::map<std::string, milliseconds, std::less<>> begun;  ///< ahead of pressure, by VMI
    std::set<std::string, std::less<>> moving;               ///< VMIs
    std::vector<milliseconds> lately;
};

ReliefView::ReliefView(Sources sources, const Clock& clock)
    : sources_(std::move(sources)), clock_(clock) {
    sources_.migrations.on_change([this](const auto& change) { take(change); });
}

void ReliefView::take(const kube::Informer<kube::Migration>::Change& change) {
    const auto& move = change.now ? change.now : change.before;
    if (!cluster::is_relief(*move)) {
        return;
    }
    if (!change.now) {
        reliefs_.erase(move->meta.uid);
        return;
    }
    const auto [entry, is_new] = reliefs_.try_emplace(move->meta.uid);
    auto& known = entry->second;
    if (is_new) {
        known.seen = clock_.steady();
    }
    if (move->is_final() && (!known.move || !known.move->is_final())) {
        known.ended = clock_.steady();
    }
    known.move = change.now;
}

bool ReliefView::synced() const noexcept {
    return sources_.kubevirts.synced() && sources_.nodes.synced() && sources_.vmis.synced() &&
           sources_.migrations.synced() && sources_.launchers.synced();
}

milliseconds ReliefView::since(WallTime time) const {
    return std::max(milliseconds{0}, clock_.wall() - time);
}

bool ReliefView::look(const migration::ReliefPolicy& policy) {
    const auto now = clock_.steady();
    std::erase_if(warned_, [now, &policy](const auto& entry) {
        return between(entry.second, now) >= policy.calm;
    });
    bool near = false;
    for (const auto& [name, node] : sources_.registry.nodes()) {
        const auto& report = node.pressure.report;
        if (report && between(node.last_heard, now) < policy.silence &&
            migration::is_near(*report)) {
            warned_[name] = now;
            near = true;
        }
    }
    return near;
}

void ReliefView::take_limits(migration::ReliefPolicy& policy) const {
    const auto kubevirts = kubevirts_of(sources_.kubevirts);
    const auto limits = cluster::move_limits(cluster::kubevirt_in_force(kubevirts));
    policy.outbound = limits.outbound;
    policy.in_cluster = limits.in_cluster;
}

kube::Informer<kube::Vmi>::Pointer ReliefView::vmi_on(std::string_view node,
                                                      std::string_view pod_uid) const {
    const auto pod = sources_.launchers.find_uid(pod_uid);
    if (!pod || pod->deletion || pod->node != node) {
        return nullptr;
    }
    auto vmi = sources_.vmis.find(pod->meta.space.view(), pod->vmi_name);
    const bool same = vmi && vmi->meta.uid == pod->vmi_uid && vmi->node == node;
    return same ? vmi : nullptr;
}

bool ReliefView::is_at_ease(std::string_view node, const migration::ReliefPolicy& policy,
                            SteadyTime led_since) const {
    const auto now = clock_.steady();
    const auto warned = warned_.find(node);
    const auto last = warned == warned_.end() ? led_since : std::max(warned->second, led_since);
    if (between(last, now) < policy.calm) {
        return false;
    }
    const auto* told = sources_.registry.find(node);
    return told != nullptr && told->pressure.report &&
           between(told->last_heard, now) < policy.silence &&
           !migration::is_near(*told->pressure.report);
}

bool ReliefView::is_told_to_stop(std::string_view vmi_uid) const {
    return sources_.told_to_stop && sources_.told_to_stop(vmi_uid);
}

/// The pod says whose target it is (dossier §6.3).
bool ReliefView::has_target_pod(const kube::Migration& move, const kube::Vmi* vmi) const {
    if (cluster::is_scheduling(move)) {
        return true;
    }
    return vmi != nullptr && std::any_of(vmi->active_pods.begin(), vmi->active_pods.end(),
                                         [this, &move](const auto& active) {
                                             const auto pod =
                                                 sources_.launchers.find_uid(active.uid);
                                             return pod && pod->migration_uid == move.meta.uid;
                                         });
}

std::vector<ReliefView::Idle> ReliefView::idle(const migration::ReliefPolicy& policy,
                                               SteadyTime led_since) const {
    const auto now = clock_.steady();
    std::vector<Idle> idle;
    for (const auto& [uid, relief] : reliefs_) {
        const auto& move = *relief.move;
        const auto vmi = sources_.vmis.find(move.meta.space.view(), move.vmi_name.view());
        if (move.deletion || !cluster::can_be_taken_back(move, vmi.get()) ||
            (vmi && is_told_to_stop(vmi->meta.uid))) {
            continue;
        }
        const auto node = move.annotations.find(std::string{cluster::relieved_node_annotation});
        const migration::ReliefWait wait{.has_pod = has_target_pod(move, vmi.get()),
                                         .age = between(relief.seen, now),
                                         .pressed = !node || !is_at_ease(*node, policy, led_since)};
        if (const auto why = migration::recall_of(wait, policy)) {
            idle.push_back(
                {.move = relief.move, .vmi_uid = vmi ? vmi->meta.uid : std::string{}, .why = *why});
        }
    }
    return idle;
}

ReliefView::Moves ReliefView::moves(const std::set<std::string, std::less<>>& counted) const {
    Moves out;
    sources_.migrations.each([this, &out](const Move& move) {
        if (move->is_final()) {
            return;
        }
        ++out.all;
        out.moving.insert(key_of(*move));
        const auto vmi = sources_.vmis.find(move->meta.space.view(), move->vmi_name.view());
        if (vmi) {
            ++out.nodes[vmi->node.str()].leaving;
        }
    });
    add_reliefs(out, counted);
    return out;
}

/// One whose time nobody told was made now.
void ReliefView::add_reliefs(Moves& moves,
                             const std::set<std::string, std::less<>>& counted) const {
    const auto now = clock_.steady();
    for (const auto& [uid, relief] : reliefs_) {
        const auto& move = *relief.move;
        const auto& creation = move.creation;
        const auto age = creation ? since(*creation) : milliseconds{0};
        const auto [of_vm, is_new] = moves.begun.try_emplace(key_of(move), age);
        of_vm->second = std::min(of_vm->second, age);
        if (!counted.contains(uid)) {
            moves.lately.push_back(age);
        }
        const auto node = move.annotations.find(std::string{cluster::relieved_node_annotation});
        if (!node) {
            continue;
        }
        auto& of_node = moves.nodes[std::string{*node}];
        if (move.is_final()) {
            take_least(of_node.ended, between(relief.ended, now));
        } else {
            ++of_node.begun;
        }
    }
}

migration::ReliefNode ReliefView::node_of(const kube::Node& object, Moves& moves) const {
    const auto now = clock_.steady();
    migration::ReliefNode node{.name = object.meta.name};
    node.takes_vms = cluster::takes_vms(object);
    node.strained = cluster::is_strained(object);
    if (const auto* told = sources_.registry.find(object.meta.name)) {
        node.report = told->pressure.report.get();
        node.told = between(told->pressure.at, now);
        node.silent = between(told->last_heard, now);
    }
    if (const auto warned = warned_.find(node.name); warned != warned_.end()) {
        node.warned = between(warned->second, now);
    }
    const auto& of_node = moves.nodes[node.name];
    node.leaving = of_node.leaving;
    node.begun = of_node.begun;
    node.ended = of_node.ended;
    return node;
}

migration::ReliefVm ReliefView::vm_of(const kube::Vmi& vmi, const Moves& moves,
                                      std::string_view strategy) const {
    migration::ReliefVm vm{.vmi = vmi.meta.space.str() + "/" + vmi.meta.name,
                           .uid = vmi.meta.uid,
                           .node = vmi.node.str(),
                           .hold = cluster::relief_hold(vmi, strategy),
                           .moving = false,
                           .moved = std::nullopt};
    if (!vm.hold && is_told_to_stop(vm.uid)) {
        vm.hold = migration::ReliefHold::stopping;
    }
    vm.moving = moves.moving.contains(vm.vmi) || (vmi.migration && vmi.migration->is_under_way());
    if (const auto arrival = cluster::arrival_of(vmi)) {
        take_least(vm.moved, since(*arrival));
    }
    if (const auto begun = moves.begun.find(vm.vmi); begun != moves.begun.end()) {
        take_least(vm.moved, begun->second);
    }
    return vm;
}

void ReliefView::add_vms(const migration::ReliefNode& node, const Moves& moves,
                         migration::ReliefWorld& world) const {
    if (node.report == nullptr || !migration::is_near(*node.report)) {
        return;
    }
    const auto kubevirts = kubevirts_of(sources_.kubevirts);
    const auto* const kubevirt = cluster::kubevirt_in_force(kubevirts);
    const auto strategy = kubevirt == nullptr ? std::string{} : kubevirt->eviction_strategy.str();
    for (const auto& order : node.report->order) {
        for (const auto& launcher : order.first) {
            const auto vmi = vmi_on(node.name, launcher.pod_uid);
            if (vmi && !world.vms.contains(launcher.pod_uid)) {
                world.vms.emplace(launcher.pod_uid, vm_of(*vmi, moves, strategy));
            }
        }
    }
}

migration::ReliefWorld ReliefView::world(const std::set<std::string, std::less<>>& counted) const {
    auto seen = moves(counted);
    migration::ReliefWorld world;
    world.nodes.reserve(sources_.nodes.size());
    sources_.nodes.each([this, &seen, &world](const auto& object) {
        world.nodes.push_back(node_of(*object, seen));
        add_vms(world.nodes.back(), seen, world);
    });
    std::sort(world.nodes.begin(), world.nodes.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    world.moving = seen.all;
    world.begun = std::move(seen.lately);
    return world;
}

}  // namespace scout::aggregator
