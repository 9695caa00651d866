// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/records.h"
#include "kube/objects/vmi.h"

/// What informers keep, as who looks back reads it: what they leave out is absent. Pure.
namespace scout::cluster {

[[nodiscard]] kube::PodRecord record_of(const kube::LauncherPod& pod);
/// Without the times of its phases.
[[nodiscard]] kube::VmiRecord record_of(const kube::Vmi& vmi);
/// As far as the VMI tells of its migration, which must be this one; else how it went is absent.
[[nodiscard]] kube::MoveRecord record_of(const kube::Migration& move, const kube::Vmi& vmi);
/// Without heartbeats.
[[nodiscard]] kube::NodeRecord record_of(const kube::Node& node);

}  // namespace scout::cluster
