// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/registry.h"
#include "base/clock.h"
#include "kube/informer.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"
#include "migration/pressure_relief.h"

namespace scout::aggregator {

/// How long it is since then; never less than nothing.
[[nodiscard]] std::chrono::milliseconds between(SteadyTime before, SteadyTime now);

/// What agents and the cluster's objects say of nodes that are about to run short, and of the VMs
/// that could be moved away from them. What was moved for it before is read from the migrations:
/// another leader knows it as well.
///
/// Memory ∝ nodes, and migrations that were made ahead of pressure and are still there. Loop
/// thread; what the sources refer to must outlive it, and the informers run elsewhere.
class ReliefView {
public:
    struct Sources {
        const Registry& registry;
        kube::Informer<kube::KubeVirt>& kubevirts;
        kube::Informer<kube::Node>& nodes;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::Migration>& migrations;
        kube::Informer<kube::LauncherPod>& launchers;
        /// Whether an agent named the VMI of that uid: its launcher was told to stop.
        std::function<bool(std::string_view vmi_uid)> told_to_stop;
    };
    /// Before the informers run.
    ReliefView(Sources sources, const Clock& clock);

    [[nodiscard]] bool synced() const noexcept;

    /// Remembers which nodes are warned of. True: one is, so that world() is worth its work.
    [[nodiscard]] bool look(const migration::ReliefPolicy& policy);

    /// As it is now; of `begun` those that the migrations tell, without those that are `counted`
    /// already, by their uids.
    [[nodiscard]] migration::ReliefWorld world(
        const std::set<std::string, std::less<>>& counted) const;

    /// KubeVirt's limits as they are now.
    void take_limits(migration::ReliefPolicy& policy) const;

    /// The VMI runs on that node by that pod, which nobody deletes; null: it does not.
    [[nodiscard]] kube::Informer<kube::Vmi>::Pointer vmi_on(std::string_view node,
                                                            std::string_view pod_uid) const;

    using Move = kube::Informer<kube::Migration>::Pointer;
    /// A move ahead of pressure that is to be taken back.
    struct Idle {
        Move move;
        std::string vmi_uid;  ///< empty: it is gone
        migration::ReliefRecall why{};
    };
    /// Without those on which a VM relies that has to leave. Who has led since `led_since` does not
    /// know what the leader before him was warned of.
    [[nodiscard]] std::vector<Idle> idle(const migration::ReliefPolicy& policy,
                                         SteadyTime led_since) const;
    /// The launcher of the VMI of that uid was told to stop.
    [[nodiscard]] bool is_told_to_stop(std::string_view vmi_uid) const;

private:
    struct Relief {
        Move move;
        SteadyTime seen{};   ///< first; clocks of other machines differ
        SteadyTime ended{};  ///< of one that is final
    };
    /// What the migrations say.
    struct Moves;

    void take(const kube::Informer<kube::Migration>::Change& change);
    [[nodiscard]] Moves moves(const std::set<std::string, std::less<>>& counted) const;
    void add_reliefs(Moves& moves, const std::set<std::string, std::less<>>& counted) const;
    [[nodiscard]] migration::ReliefNode node_of(const kube::Node& object, Moves& moves) const;
    void add_vms(const migration::ReliefNode& node, const Moves& moves,
                 migration::ReliefWorld& world) const;
    [[nodiscard]] migration::ReliefVm vm_of(const kube::Vmi& vmi, const Moves& moves,
                                            std::string_view strategy) const;
    [[nodiscard]] std::chrono::milliseconds since(WallTime time) const;
    [[nodiscard]] bool has_target_pod(const kube::Migration& move, const kube::Vmi* vmi) const;
    /// Its agent is heard, and expects nothing, for long enough: one that began anew knows no
    /// trend.
    [[nodiscard]] bool is_at_ease(std::string_view node, const migration::ReliefPolicy& policy,
                                  SteadyTime led_since) const;

    Sources sources_;
    const Clock& clock_;
    std::map<std::string, Relief, std::less<>> reliefs_;     ///< by uid
    std::map<std::string, SteadyTime, std::less<>> warned_;  ///< nodes, when they last were
};

}  // namespace scout::aggregator
