// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What every answer is made of. Pure; any thread; nothing here fails.
namespace scout::migration {

/// Three values, never two: what cannot be compared is neither yes nor no (design §5).
enum class Verdict : std::uint8_t {
    can,
    cannot,
    unknown,  ///< cannot be compared; a reason says why
};

/// Which of the two layers speaks; they are never mixed (design §5).
enum class Layer : std::uint8_t {
    stock,  ///< what KubeVirt's label predicate will do (dossier §5.4)
    truth,  ///< what the target's hypervisor can really run
};

/// Why not, in order of weight.
enum class ReasonCode : std::uint8_t {
    document,        ///< a document could not be used at all
    virt_type,       ///< emulation or another hypervisor on one side
    not_running,     ///< the guest is not one that runs, or will not for long
    not_migratable,  ///< KubeVirt says that the guest cannot be migrated
    arch,            ///< another architecture
    vendor,          ///< another CPU vendor
    stale_selector,  ///< asked for since the guest's start, and even its own node has it no longer
    model,           ///< the CPU model is not known or not usable there
    machine_type,    ///< the machine type is not offered there
    tsc,             ///< the guest's fixed TSC frequency does not fit
    tsc_label,       ///< it fits, but KubeVirt has not labelled the node for it
    feature,         ///< CPU features are missing there, or bits of its physical addresses
    not_reported,    ///< features of a kind that the target's labeller never writes (vmx-*)
    selector,        ///< another label that the guest asks for is missing there
    node_affinity,   ///< its required node affinity does not match the target
    taint,           ///< a taint of the target that is not tolerated
    pod_affinity,    ///< pods that it must be with are not there
    pod_anti_affinity,  ///< pods that it must not be with are there, or must not be with it
    topology_spread,    ///< too many such pods are there already
    volume,             ///< a volume cannot be used from there
    resources,          ///< what it asks for is not free there
    host_port,          ///< a port of the node is taken
    unschedulable,      ///< the target takes no VMs at the moment
    not_comparable,     ///< some fact is missing on one side
};

struct Reason {
    ReasonCode code{};
    Layer layer = Layer::truth;
    std::string text;               ///< one sentence for a person
    std::vector<std::string> keys;  ///< features, label keys, models, …: what the text speaks of
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;  // "can", …
[[nodiscard]] std::string_view to_string(Layer layer) noexcept;      // "stock", "truth"
[[nodiscard]] std::string_view to_string(ReasonCode code) noexcept;  // "machine-type", …

/// The layer of that name; none: there is no such layer.
[[nodiscard]] std::optional<Layer> layer_named(std::string_view name) noexcept;

/// `can` only if both can, any `cannot` is cannot, else unknown (design §5).
[[nodiscard]] Verdict combine(Verdict first, Verdict second) noexcept;

/// The text for a reason, or "unstated" for an empty one.
[[nodiscard]] std::string or_unstated(const std::string& text);

/// One list of what says no and what could only not be told: first what decides, then by weight;
/// order among equals stays.
[[nodiscard]] std::vector<Reason> deciding_first(std::vector<Reason> no,
                                                 std::vector<Reason> unknown);

}  // namespace scout::migration
