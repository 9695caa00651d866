// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "migration/cpu_map.h"

/// The XML of libvirt's cpu_map. Pure; limits as in profile_document.h.
namespace scout::documents {

/// A model before its ancestors are put in.
struct RawModel {
    std::string file;  ///< that defines it
    std::vector<std::string> parents;
    std::string vendor;
    std::vector<std::string> features;
    std::vector<std::string> removed;  ///< features that an inheriting model takes away again
};
using RawModels = std::map<std::string, RawModel, std::less<>>;

/// File names that index.xml includes for x86, in order.
[[nodiscard]] Result<std::vector<std::string>> parse_cpu_map_index(std::string_view xml);

/// Adds the models of one file, whose name goes into later messages; files without models
/// (features, vendors) add nothing. A model defined twice is Errc::invalid.
[[nodiscard]] Status add_cpu_map_models(std::string_view xml, const std::string& file,
                                        RawModels& models);

/// Puts ancestors in. Errc::invalid for a cycle, more than 16 generations or a parent that
/// is not there; the message names the file of the child.
[[nodiscard]] Result<std::map<std::string, migration::MapModel, std::less<>>> resolve_models(
    const RawModels& models);

}  // namespace scout::documents
