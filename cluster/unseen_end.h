// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cluster/cause_facts.h"
#include "cluster/records.h"

namespace scout::cluster {

/// Of what nothing that was read ends: whether another launcher of the VM may have ended before.
struct UnseenEnd {
    /// Why it is not known what ended one: the one that runs was not read, or there are signs of an
    /// earlier one; empty: neither.
    std::string why;
    /// Why the end of one before this VMI would not be seen, of which there is no sign; empty: it
    /// would, or there was none.
    std::string perhaps;
};

/// A VMI never starts anew, so what is older than it is of a VMI before it; but for its
/// VirtualMachine, which may have been made long before it was first started, or have waited for
/// its DataVolumes, and of which nothing tells a first VMI from a later one (startVMI() of
/// KubeVirt's pkg/virt-controller/watch/vm/vm.go: generation and revision count changes of the
/// VirtualMachine, not starts). `launchers`: all that are known of the VM. Pure.
[[nodiscard]] UnseenEnd unseen_end(const Records& records, const kube::VmiRecord& vmi,
                                   const std::vector<LauncherSeen>& launchers);

}  // namespace scout::cluster
