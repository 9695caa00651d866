// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "migration/feature_set.h"

namespace scout::migration {

/// One named model as a cpu_map defines it.
struct MapModel {
    std::string vendor;   ///< empty for generic models
    FeatureSet features;  ///< all, own and inherited, without `removed` ones and without vmx-*

    friend bool operator==(const MapModel&, const MapModel&) = default;
};

/// libvirt's table of named CPU models for x86. Source of the rules: libvirt's cpu_map XML;
/// features marked `removed='yes'` are not part of the model any more, `vmx-*` never count from
/// here (design §5). Immutable once made; any thread; nothing here fails. Sizes are bounded where
/// the files are read (documents/cpu_map_files.h).
class CpuMap {
public:
    CpuMap() = default;
    CpuMap(std::string name, std::map<std::string, MapModel, std::less<>> models);

    /// Where it came from, as verdicts name it: a folder, usually.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// nullptr if the map does not know the model: then nothing may be concluded.
    [[nodiscard]] const MapModel* find(std::string_view model) const;

    [[nodiscard]] const std::map<std::string, MapModel, std::less<>>& models() const noexcept {
        return models_;
    }

private:
    std::string name_;
    std::map<std::string, MapModel, std::less<>> models_;
};

}  // namespace scout::migration
