// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client.h"
#include "kube/objects/migration.h"

/// Where KubeVirt's API has what belongs to one VMI. Any thread.
namespace scout::cluster {

[[nodiscard]] kube::Target vmi_target(std::string_view space, std::string_view name);

/// Takes the mark for an evacuation away: a command with the marked node in its body (dossier §16).
[[nodiscard]] kube::Target evacuation_cancel(std::string_view space, std::string_view name);
[[nodiscard]] std::string evacuation_cancel_body(std::string_view node);

/// Path of the list of its migrations, and perhaps those of others.
[[nodiscard]] std::string moves_path(std::string_view space, std::string_view vmi);

/// Its migrations in the answer. One that cannot be read makes it an error: it may be under way.
/// Errors: invalid.
[[nodiscard]] Result<std::vector<kube::Migration>> moves_in(std::string list, std::string_view vmi);

}  // namespace scout::cluster
