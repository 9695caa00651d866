// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregator/evacuation_messages.h"
#include "base/result.h"
#include "cluster/move_policy.h"
#include "kube/informer.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/labelled.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/migration_policy.h"
#include "kube/objects/node.h"
#include "kube/objects/vmi.h"
#include "migration/escalation.h"
#include "migration/migration_policy.h"

namespace scout::aggregator {

/// What the cluster's objects say of VMs that are to be moved: the facts that agents are told, and
/// whether an agent may have something done. Of the objects of others nothing is told.
///
/// Memory ∝ VMs that are followed and migrations that run. Loop thread; the informers must outlive
/// it, and run elsewhere.
class EvacuationView {
public:
    struct Sources {
        kube::Informer<kube::KubeVirt>& kubevirts;
        kube::Informer<kube::Vmi>& vmis;
        kube::Informer<kube::Migration>& migrations;
        kube::Informer<kube::LauncherPod>& launchers;
        kube::Informer<kube::MigrationPolicy>& policies;
        kube::Informer<kube::LabelledObject>& namespaces;
        kube::Informer<kube::Node>& nodes;
    };
    /// Of a VMI with that uid, or of all if it is empty.
    using Handler = std::function<void(std::string_view vmi_uid)>;

    explicit EvacuationView(Sources sources);

    /// Called when facts of what is followed may be others. Before the informers run.
    void on_change(Handler handler) { on_change_ = std::move(handler); }

    /// The migrations of these VMIs and no others.
    void follow(const std::vector<const NamedEvacuation*>& all);

    /// Whether its launcher is on that node, and the VMI's.
    [[nodiscard]] bool is_on(const NamedEvacuation& named, std::string_view node) const;
    /// Nothing but how many may move of one that is not on the node.
    [[nodiscard]] v1::EvacuationFacts facts(const NamedEvacuation& named, std::string_view node,
                                            bool is_proven) const;
    /// The VMI itself; null if it is not seen.
    [[nodiscard]] kube::Informer<kube::Vmi>::Pointer vmi(const NamedEvacuation& named) const;
    [[nodiscard]] kube::Informer<kube::LauncherPod>::Pointer pod(std::string_view uid) const {
        return sources_.launchers.find_uid(uid);
    }
    [[nodiscard]] kube::Informer<kube::Migration>::Pointer move(std::string_view space,
                                                                std::string_view name) const {
        return sources_.migrations.find(space, name);
    }
    /// The migration of this VMI whose target the pod of that name was made for, and which is not
    /// at its end; null if there is none.
    [[nodiscard]] kube::Informer<kube::Migration>::Pointer move_to(const NamedEvacuation& named,
                                                                   std::string_view pod) const;
    /// What may be set for the next move of this VMI; all but completion_per_gib. Errors:
    /// unavailable, where its objects are not seen; refused, with what stands in its way.
    [[nodiscard]] Result<cluster::MovePolicy> move_policy(const NamedEvacuation& named,
                                                          migration::Escalation escalation) const;
    /// A policy of a single move.
    struct MoveWithPolicy {
        std::string vmi_uid;
        std::string policy_uid;
    };
    [[nodiscard]] std::vector<MoveWithPolicy> moves_with_policy() const;
    /// The VMI is not there any more, or runs elsewhere.
    [[nodiscard]] bool has_left(const NamedEvacuation& named, std::string_view node) const;
    /// There is no Node object of that name.
    [[nodiscard]] bool is_gone(std::string_view node) const;
    /// spec.configuration.evictionStrategy of the KubeVirt object that is in force.
    [[nodiscard]] std::string strategy() const;
    [[nodiscard]] std::string kubevirt_version() const;

private:
    using Move = kube::Informer<kube::Migration>::Pointer;

    void take_move(const kube::Informer<kube::Migration>::Change& change);
    void take_policies();
    void take_kubevirt();
    [[nodiscard]] migration::ChosenVmi chosen(const kube::Vmi& vmi,
                                              const kube::Labels& space) const;
    void tell(std::string_view vmi_uid) const;
    [[nodiscard]] std::size_t running_elsewhere(std::string_view node) const;
    [[nodiscard]] std::vector<Move> moves_of(const NamedEvacuation& named) const;
    void add_moves(v1::EvacuationFacts& facts, const NamedEvacuation& named,
                   const kube::Vmi* vmi) const;
    [[nodiscard]] std::string target_of(const kube::Migration& move, const kube::Vmi& vmi) const;

    Sources sources_;
    Handler on_change_;
    std::map<std::string, std::set<std::string>, std::less<>> followed_;  ///< uids by key_of()
    /// Migrations of what is followed, by key_of() the VMI and their own name.
    std::unordered_map<std::string, std::map<std::string, Move, std::less<>>> moves_;
    std::map<std::string, Move, std::less<>> running_;  ///< of all VMIs, by uid
    std::vector<migration::MigrationPolicy> policies_;  ///< those of single moves, too
    std::vector<kube::KubeVirt> kubevirts_;
};

}  // namespace scout::aggregator
