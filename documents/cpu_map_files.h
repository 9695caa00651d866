// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "migration/cpu_map.h"

namespace scout::documents {

/// Where the distribution's libvirt keeps its map.
inline constexpr const char* installed_cpu_map = "/usr/share/libvirt/cpu_map";

/// Reads a cpu_map folder: `index.xml` and the x86 files that it includes (models of other
/// architectures carry no features and are left out); without an index all `x86_*.xml`. Inherited
/// models are resolved. Blocking. The map's name is the folder as given. Errors: not_found (no such
/// folder, or no map in it); invalid, naming the file, for an include that is not there or leaves
/// the folder, and for what cpu_map_document.h refuses.
[[nodiscard]] Result<migration::CpuMap> load_cpu_map(const std::filesystem::path& folder);

/// The map to judge with. A configured folder must hold one, and no other takes its place; without
/// one it is the installed map, or none where libvirt's is not installed. Errors: those of
/// load_cpu_map().
[[nodiscard]] Result<std::optional<migration::CpuMap>> find_cpu_map(
    const std::optional<std::filesystem::path>& configured,
    const std::filesystem::path& installed = installed_cpu_map);

}  // namespace scout::documents
