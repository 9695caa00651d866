// SPDX-License-Identifier: Apache-2.0
#include "migration/cpu_map.h"

#include <utility>

namespace scout::migration {

CpuMap::CpuMap(std::string name, std::map<std::string, MapModel, std::less<>> models)
    : name_(std::move(name)), models_(std::move(models)) {}

const MapModel* CpuMap::find(std::string_view model) const {
    const auto found = models_.find(model);
    return found == models_.end() ? nullptr : &found->second;
}

}  // namespace scout::migration
