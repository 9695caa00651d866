// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "migration/cpu_map.h"

namespace scout::documents {

/// Where the distribution's libvirt keeps its map.
inline constexpr const char* installed_cpu_map = "/usr/share/libvirt/cpu_map";

/// Reads a cpu_map folder: `index.xml` and the x86 files that it includes (models of other
/// architectures carry no features and are left out). Inherited models are resolved; a cycle, a
/// missing parent or an include that leaves the folder is Errc::invalid. The map's name is the
/// folder as given.
[[nodiscard]] Result<migration::CpuMap> load_cpu_map(const std::filesystem::path& folder);

/// The first of these folders that holds a map, in the search order of design §5 (running
/// launcher's, configured, installed). `not_found` names all that were tried.
[[nodiscard]] Result<migration::CpuMap> load_first_cpu_map(
    const std::vector<std::filesystem::path>& folders);

}  // namespace scout::documents
