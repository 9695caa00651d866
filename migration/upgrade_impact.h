// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "migration/cpu_map.h"
#include "migration/cpu_truth.h"
#include "migration/profile.h"
#include "migration/verdict.h"

/// Before and after of one host. Source of the rules: case 7, and those of cpu_truth.h on all but
/// the number of vCPUs, applied both ways. Pure; any thread; nothing here fails: what is not known
/// is said to be.
namespace scout::migration {

/// What an upgrade of one host (microcode, kernel, QEMU, libvirt) means for its guests (case 7).
struct UpgradeImpact {
    std::string model_before;
    std::string model_after;
    std::optional<Usable> named_usable_before;  ///< is the host-model's name usable as named model
    std::optional<Usable> named_usable_after;
    bool comparable = false;    ///< both sets are known
    FeatureSet missing_after;   ///< a guest started before has them, the host no longer offers them
    FeatureSet missing_before;  ///< a guest started now has them, the host before had not
    /// Machine types (and aliases) of the one side that the other does not offer; none: not known,
    /// for a side does not list its own.
    std::optional<FeatureSet> machines_missing_after;
    std::optional<FeatureSet> machines_missing_before;
    std::vector<std::string> notes;  ///< what changed beside the CPU features, or is not known of
                                     ///< it: machine types, TSC, width of physical addresses
    std::string advice;              ///< one sentence: whether guests need a restart for their
                                     ///< CPU features, and which; then whether machine types are
                                     ///< gone, and whether there are notes. Or why not comparable
    std::string map;                 ///< cpu_map that was needed, or empty
    bool assumed = false;  ///< a side is a bare `<cpu>`: its own set stands for what it supports

    [[nodiscard]] bool model_changed() const noexcept { return model_before != model_after; }
};

/// Two documents of other architectures or vendors are of other machines: not comparable, and the
/// advice says so. Machine types, TSC and width of addresses are compared too where both are of one
/// machine and KVM; what a side does not tell of them is a note, never taken for equal.
[[nodiscard]] UpgradeImpact upgrade_impact(Target before, Target after, const CpuMap* map);

}  // namespace scout::migration
