// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/objects/node.h"
#include "migration/named_target.h"

/// The VirtualMachineInstanceMigration that is made of what was asked for. Pure.
namespace scout::cluster {

/// What stock KubeVirt obeys: a term as labels of spec.addedNodeSelector, which every target must
/// have (dossier §6.1). metadata.name becomes the label kubernetes.io/hostname of that node.
/// Errors: invalid, for what labels cannot say: all but "key In (one value)", and a node whose
/// hostname label is missing or is another node's too.
[[nodiscard]] Result<migration::Labels> as_added_selector(const migration::MoveWish& wish,
                                                          const std::vector<kube::Node>& nodes);

/// JSON for the API server, which makes up its name. A term is in the annotation.
[[nodiscard]] std::string move_object(const migration::MoveRequest& request);

/// The manifest itself as JSON, of a text that read_move_manifest() takes without faults: but that
/// a term is in the annotation, which every API server keeps.
[[nodiscard]] std::string move_object(std::string_view manifest);

/// The same object with what stands for its term (cluster/target_term.h), so that nobody need trust
/// that a webhook is called. It must have a term.
[[nodiscard]] std::string with_sentinel(std::string_view object);

}  // namespace scout::cluster
