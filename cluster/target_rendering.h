// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/objects.h"
#include "migration/labels.h"
#include "migration/scheduling/cluster.h"
#include "migration/target_pod.h"

namespace scout::cluster {

/// The target pod of a VMI's next migration as kube-scheduler will see it.
struct RenderedTarget {
    migration::scheduling::Pod pod;
    bool amounts_known = false;  ///< what it takes of a node
    /// The VMI's own node affinity; none where KubeVirt's rendering leaves it without meaning.
    std::optional<std::vector<migration::NodeSelectorTerm>> own_terms;
    /// What its launcher tolerates and nobody says why: admission may have added it, and may again,
    /// or the VMI asked for it before.
    std::vector<migration::scheduling::Toleration> perhaps_tolerated;
    migration::Labels perhaps_asked;  ///< node labels, alike
    std::vector<std::string> open;    ///< why no node is certain, one clause each
};

/// As virt-controller renders it (dossier §5.4, §6.3; template.go, RenderMigrationManifest() and
/// createTargetPod()): labels, affinity, tolerations and volumes of the VMI; what it takes of a
/// node from `launcher`, which was rendered from the same, as what admission has added. `launcher`:
/// runs it now; null if it is not known. `claims`, `volumes`: what was told of them. Pure.
[[nodiscard]] RenderedTarget render_target(const Objects& objects, const kube::Vmi& vmi,
                                           const kube::LauncherPod* launcher,
                                           const migration::TargetPod& selectors,
                                           const migration::scheduling::Cluster& cluster);

}  // namespace scout::cluster
