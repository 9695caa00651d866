// SPDX-License-Identifier: Apache-2.0
#include "aggregator/evacuation_view.h"

#include <algorithm>
#include <utility>

#include "aggregator/kubevirts.h"
#include "cluster/evacuation_facts.h"
#include "cluster/migration_numbers.h"
#include "cluster/objects.h"

namespace scout::aggregator {
namespace {

/// "namespace/name"
std::string key_of(std::string_view space, std::string_view name) {
    return std::string{space} + "/" + std::string{name};
}

}  // namespace

EvacuationView::EvacuationView(Sources sources) : sources_(sources) {
    sources_.kubevirts.on_change([this](const auto& /*change*/) { take_kubevirt(); });
    sources_.vmis.on_change([this](const auto& change) {
        const auto& vmi = change.now ? change.now : change.before;
        tell(vmi->meta.uid);
    });
    sources_.migrations.on_change([this](const auto& change) { take_move(change); });
    sources_.launchers.on_change([this](const auto& change) {
        const auto& pod = change.now ? change.now : change.before;
        tell(pod->vmi_uid);
    });
    sources_.policies.on_change([this](const auto& /*change*/) { take_policies(); });
    sources_.namespaces.on_change([this](const auto& change) {
        if (change.before && change.now && change.before->labels == change.now->labels) {
            return;
        }
        tell({});
    });
    sources_.nodes.on_change([this](const auto& change) {
        if (!change.before || !change.now) {
            tell({});
        }
    });
    sources_.migrations.on_synced([this] { tell({}); });
    sources_.nodes.on_synced([this] { tell({}); });
}

void EvacuationView::tell(std::string_view vmi_uid) const {
    if (on_change_) {
        on_change_(vmi_uid);
    }
}

void EvacuationView::take_kubevirt() {
    kubevirts_ = kubevirts_of(sources_.kubevirts);
    tell({});
}

void EvacuationView::take_policies() {
    policies_.clear();
    sources_.policies.each(
        [this](const auto& policy) { policies_.push_back(cluster::plain_policy(*policy)); });
    tell({});
}

void EvacuationView::take_move(const kube::Informer<kube::Migration>::Change& change) {
    const auto& move = change.now ? change.now : change.before;
    const bool runs = change.now && cluster::takes_place(change.now->phase.view());
    const bool ran = running_.contains(move->meta.uid);
    if (runs) {
        running_[move->meta.uid] = change.now;
    } else {
        running_.erase(move->meta.uid);
    }
    const auto found = followed_.find(key_of(move->meta.space.view(), move->vmi_name.view()));
    if (found != followed_.end()) {
        auto& moves = moves_[found->first];
        if (change.now) {
            moves[move->meta.name] = change.now;
        } else {
            moves.erase(move->meta.name);
        }
    }
    if (runs != ran) {
        tell({});
    } else if (found != followed_.end()) {
        for (const auto& uid : found->second) {
            tell(uid);
        }
    }
}

void EvacuationView::follow(const std::vector<const NamedEvacuation*>& all) {
    std::set<std::string, std::less<>> fresh;
    decltype(followed_) followed;
    for (const auto* named : all) {
        auto key = key_of(named->space, named->vmi);
        if (!followed_.contains(key)) {
            fresh.insert(key);
        }
        followed[std::move(key)].insert(named->vmi_uid);
    }
    followed_ = std::move(followed);
    std::erase_if(moves_, [this](const auto& entry) { return !followed_.contains(entry.first); });
    if (fresh.empty()) {
        return;
    }
    sources_.migrations.each([this, &fresh](const auto& move) {
        auto key = key_of(move->meta.space.view(), move->vmi_name.view());
        if (fresh.contains(key)) {
            moves_[std::move(key)][move->meta.name] = move;
        }
    });
}

bool EvacuationView::is_on(const NamedEvacuation& named, std::string_view node) const {
    const auto found = pod(named.pod_uid);
    return found && found->node == node && found->meta.space == named.space &&
           found->vmi_uid == named.vmi_uid && found->vmi_name == named.vmi;
}

kube::Informer<kube::Vmi>::Pointer EvacuationView::vmi(const NamedEvacuation& named) const {
    auto found = sources_.vmis.find(named.space, named.vmi);
    return found && found->meta.uid == named.vmi_uid ? found : nullptr;
}

bool EvacuationView::is_gone(std::string_view node) const {
    return !node.empty() && sources_.nodes.synced() && !sources_.nodes.find({}, node);
}

std::string EvacuationView::strategy() const {
    const auto* const kubevirt = cluster::kubevirt_in_force(kubevirts_);
    return kubevirt == nullptr ? std::string{} : kubevirt->eviction_strategy.str();
}

std::string EvacuationView::kubevirt_version() const {
    const auto* const kubevirt = cluster::kubevirt_in_force(kubevirts_);
    return kubevirt == nullptr ? std::string{} : kubevirt->observed_version.str();
}

/// A migration whose VMI is not seen runs from anywhere.
std::size_t EvacuationView::running_elsewhere(std::string_view node) const {
    return static_cast<std::size_t>(
        std::count_if(running_.begin(), running_.end(), [this, node](const auto& entry) {
            const auto& move = *entry.second;
            const auto vmi = sources_.vmis.find(move.meta.space.view(), move.vmi_name.view());
            return !vmi || vmi->node != node;
        }));
}

std::vector<EvacuationView::Move> EvacuationView::moves_of(const NamedEvacuation& named) const {
    std::vector<Move> moves;
    if (const auto found = moves_.find(key_of(named.space, named.vmi)); found != moves_.end()) {
        for (const auto& [name, move] : found->second) {
            moves.push_back(move);
        }
    }
    return moves;
}

/// The VMI names it once it is handed off; before that its pod says so (dossier §6.3).
std::string EvacuationView::target_of(const kube::Migration& move, const kube::Vmi& vmi) const {
    for (const auto& active : vmi.active_pods) {
        const auto found = pod(active.uid);
        if (found && found->migration_uid == move.meta.uid) {
            return found->meta.name;
        }
    }
    return {};
}

EvacuationView::Move EvacuationView::move_to(const NamedEvacuation& named,
                                             std::string_view name) const {
    const auto seen = vmi(named);
    if (!seen) {
        return nullptr;
    }
    for (const auto& move : moves_of(named)) {
        if (move->is_final()) {
            continue;
        }
        const auto told = cluster::move_facts(*move, seen.get()).target_pod;
        if (told == name || target_of(*move, *seen) == name) {
            return move;
        }
    }
    return nullptr;
}

void EvacuationView::add_moves(v1::EvacuationFacts& facts, const NamedEvacuation& named,
                               const kube::Vmi* vmi) const {
    facts.set_moves_known(sources_.migrations.synced());
    const auto moves = moves_of(named);
    if (const auto next = cluster::next_evacuation(moves)) {
        facts.set_next_evacuation_unix_ms(next->time_since_epoch().count());
    }
    for (const auto& move : moves) {
        auto told = cluster::move_facts(*move, vmi);
        if (told.target_pod.empty() && vmi != nullptr && !told.is_final()) {
            told.target_pod = target_of(*move, *vmi);
        }
        *facts.add_moves() = to_wire(told);
    }
}

v1::EvacuationFacts EvacuationView::facts(const NamedEvacuation& named, std::string_view node,
                                          bool is_proven) const {
    const auto* const kubevirt = cluster::kubevirt_in_force(kubevirts_);
    v1::EvacuationFacts facts;
    facts.set_vmi_uid(named.vmi_uid);
    facts.set_slots(cluster::slots(kubevirt, running_elsewhere(node)));
    if (!is_proven) {
        return facts;
    }
    const auto seen = vmi(named);
    if (seen) {
        auto of_vmi = cluster::vmi_facts(*seen, strategy());
        of_vmi.node_gone = is_gone(of_vmi.node);
        *facts.mutable_vmi() = to_wire(of_vmi, cluster::grace_of(*seen));
        const auto space = sources_.namespaces.find({}, named.space);
        *facts.mutable_numbers() = to_wire(cluster::migration_numbers(
            *seen, space ? space->labels : kube::Labels{}, policies_, kubevirt));
    }
    if (const auto found = pod(named.pod_uid)) {
        *facts.mutable_pod() = to_wire(*found);
    }
    add_moves(facts, named, seen.get());
    return facts;
}

}  // namespace scout::aggregator
