// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "migration/cpu_map.h"
#include "migration/profile.h"

/// The node labels of KubeVirt's labeller (dossier §5.2), as constants and as a function. Pure; any
/// thread; nothing here fails: what a profile does not tell is left out. TSC frequencies are in Hz.
namespace scout::migration {

using Labels = std::map<std::string, std::string, std::less<>>;

namespace label {
inline constexpr std::string_view cpu_feature = "cpu-feature.node.kubevirt.io/";
inline constexpr std::string_view cpu_model = "cpu-model.node.kubevirt.io/";
inline constexpr std::string_view known_model = "cpu-model-migration.node.kubevirt.io/";
inline constexpr std::string_view host_model = "host-model-cpu.node.kubevirt.io/";
inline constexpr std::string_view required_feature =
    "host-model-required-features.node.kubevirt.io/";
inline constexpr std::string_view vendor = "cpu-vendor.node.kubevirt.io/";
inline constexpr std::string_view machine_type = "machine-type.node.kubevirt.io/";
inline constexpr std::string_view tsc_frequency = "cpu-timer.node.kubevirt.io/tsc-frequency";
inline constexpr std::string_view tsc_scalable = "cpu-timer.node.kubevirt.io/tsc-scalable";
inline constexpr std::string_view hyperv = "hyperv.node.kubevirt.io/";
inline constexpr std::string_view launch_security = "kubevirt.io/";  ///< "sev", "tdx", …
inline constexpr std::string_view realtime = "kubevirt.io/realtime";
inline constexpr std::string_view tsc_scheduling = "scheduling.node.kubevirt.io/tsc-frequency-";
inline constexpr std::string_view obsolete = "node-labeller.kubevirt.io/obsolete-host-model";
inline constexpr std::string_view schedulable = "kubevirt.io/schedulable";
inline constexpr std::string_view arch = "kubernetes.io/arch";
}  // namespace label

/// What of the KubeVirt CR changes the labels (dossier §5.2).
struct LabelOptions {
    /// `configuration.obsoleteCPUModels`: unset ⇒ the built-in list filters models, and no
    /// host-model is obsolete; set ⇒ its keys do both.
    const std::set<std::string, std::less<>>* obsolete_models = nullptr;
};

/// Exactly the labels that the labeller would write for this profile, as far as documents tell them
/// (see labels_not_derivable()); those of others (`kubevirt.io/schedulable` of the heartbeat, …)
/// are not among them. Without a list of supported features the host-model's own set takes its
/// place, as hypervisor-cpu-baseline would answer; if the map cannot expand it, only the required
/// features.
[[nodiscard]] Labels labeller_labels(const Profile& profile, const HostFacts& facts,
                                     const CpuMap* map, const LabelOptions& options = {});

/// Keys of the labeller that labeller_labels() leaves out because these documents do not tell them,
/// sorted; one that ends in "/" stands for every key that begins so. On the node itself the
/// labeller asks /dev/kvm for the Hyper-V ones and sysctl for the realtime one (dossier §5.2), so
/// no document ever tells those; machine types and TSC come from capabilities, CPU features and
/// models from domain capabilities with a cpu_map that knows the model, the vendor from either. Its
/// `vm-arch-` keys, which it writes under a feature gate only, are in neither list.
[[nodiscard]] std::vector<std::string> labels_not_derivable(const Profile& profile,
                                                            const HostFacts& facts,
                                                            const CpuMap* map);

/// KubeVirt's built-in list of models that it does not offer (dossier §5.2).
[[nodiscard]] bool is_built_in_obsolete(std::string_view model);

/// The same by the list that is told, if one is.
[[nodiscard]] bool is_obsolete(std::string_view model, const LabelOptions& options);

/// True for any label of KubeVirt's: the labeller's, virt-handler's, virt-controller's.
[[nodiscard]] bool is_of_kubevirt(std::string_view key) noexcept;

/// labeller_labels() and what every node that takes VMs carries besides: `kubernetes.io/arch` and
/// `kubevirt.io/schedulable`. For hosts and documents outside a cluster; a bare `<cpu>` is x86.
[[nodiscard]] Labels standalone_labels(const Profile& profile, const HostFacts& facts,
                                       const CpuMap* map);

/// "key=value", as selectors are written.
[[nodiscard]] std::string pair_text(std::string_view key, std::string_view value);

/// "amd64" for "x86_64", "arm64" for "aarch64", else the name itself.
[[nodiscard]] std::string go_arch(std::string_view libvirt_arch);

}  // namespace scout::migration
