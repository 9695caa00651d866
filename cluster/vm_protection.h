// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/evacuation_rules.h"
#include "cluster/hook_plugin.h"
#include "cluster/objects.h"
#include "migration/evacuation_outlook.h"
#include "migration/migration_policy.h"
#include "migration/vm_protection.h"

/// Which VMs of a cluster would be moved if their node told their launchers to stop, from the
/// cluster's objects and what agents told of kubelets. Pure.
namespace scout::cluster {

/// By node.
using KubeletWords = std::map<std::string, migration::KubeletGraces, std::less<>>;

struct VmProtection {
    std::string vmi;  ///< "NAMESPACE/NAME"
    std::string node;
    migration::EvictionStrategy strategy = migration::EvictionStrategy::none;
    bool strategy_of_cluster = false;  ///< the VMI itself has none
    std::uint64_t memory = 0;          ///< bytes; 0: not told
    migration::ProtectionAnswer answer;
    std::string advice;  ///< what an admin can do; empty: nothing has to be done, or nothing helps
    /// Of a protected one: also if all launchers of its node were told to stop at once, for
    /// KubeVirt moves a few at a time. None: not looked at.
    std::optional<bool> with_others;
};

/// Takes part in this: it runs, and nobody has asked for its end.
[[nodiscard]] bool is_running(const kube::Vmi& vmi);

/// What is known around a VMI. What is null is not known.
struct VmSurroundings {
    const kube::LauncherPod* launcher = nullptr;  ///< the one in which it runs; null: as stock ones
    const kube::Labels* space = nullptr;          ///< labels of its namespace
    const migration::KubeletGraces* kubelet = nullptr;
    const std::vector<const kube::Vmi*>* on_node = nullptr;  ///< VMIs of its node, itself too
    bool node_gone = false;  ///< there is no Node object of that name
};

/// What is the same for all VMs of a cluster, read once. Refers to the KubeVirt object; any thread.
class ProtectionRules {
public:
    /// Each may be null. `plugin`: that of virt-scout. `policies`: none made for a single move
    /// (is_move_policy()). `plugins_known`: where `plugin` is null there is none.
    ProtectionRules(const kube::KubeVirt* kubevirt, const kube::ScoutConfig* config,
                    const kube::Plugin* plugin, std::vector<migration::MigrationPolicy> policies,
                    bool plugins_known = true);

    /// All but `with_others`.
    [[nodiscard]] VmProtection judge(const kube::Vmi& vmi, const VmSurroundings& around) const;

private:
    struct Obstacle {
        std::string why;
        std::string advice;
        bool known = true;  ///< false: it may be none
    };
    [[nodiscard]] Obstacle look_for_hook(bool has_config, const kube::Plugin* plugin,
                                         bool plugins_known) const;
    [[nodiscard]] std::string what_to_read(const VmSurroundings& around) const;
    [[nodiscard]] Obstacle hook_on(const kube::Vmi& vmi, const VmSurroundings& around) const;
    [[nodiscard]] migration::MoveSubject subject_of(const kube::Vmi& vmi,
                                                    const VmSurroundings& around) const;
    [[nodiscard]] migration::ProtectionFacts facts_of(const kube::Vmi& vmi,
                                                      const VmSurroundings& around) const;
    void look_at_policies(const kube::Vmi& vmi, const VmSurroundings& around,
                          migration::ProtectionFacts& facts) const;

    const kube::KubeVirt* kubevirt_;
    EvacuationRules rules_;
    Obstacle everywhere_;  ///< why no stop in the cluster is asked about; empty: they are
    NodeNames left_out_;   ///< nodes on which nobody is asked
    std::vector<migration::MigrationPolicy> policies_;
    bool by_namespaces_;  ///< one of them
};

/// Finds the surroundings of VMIs among the objects of a cluster. Refers to them.
class VmNeighbours {
public:
    explicit VmNeighbours(const KubeletWords* kubelets = nullptr) : kubelets_(kubelets) {}

    void add(const kube::Vmi& vmi);
    void add(const kube::LauncherPod& pod);
    void add(const kube::LabelledObject& space);
    /// Where none is added, nothing is said of nodes that are gone.
    void add(const kube::Node& node);

    [[nodiscard]] VmSurroundings of(const kube::Vmi& vmi) const;

private:
    [[nodiscard]] const kube::LauncherPod* launcher_of(const kube::Vmi& vmi) const;

    const KubeletWords* kubelets_;
    std::unordered_map<std::string_view, std::vector<const kube::Vmi*>> vmis_;  ///< by node
    std::unordered_multimap<std::string_view, const kube::LauncherPod*>
        launchers_;  ///< by VMI's uid
    std::unordered_map<std::string_view, const kube::Labels*> spaces_;
    std::unordered_set<std::string_view> nodes_;
};

/// All VMIs that run, in the order of the objects. `plugins_known`: Plugins are among what was
/// read, also where there is none.
[[nodiscard]] std::vector<VmProtection> vm_protections(const Objects& objects,
                                                       const KubeletWords& kubelets = {},
                                                       bool plugins_known = true);

}  // namespace scout::cluster
