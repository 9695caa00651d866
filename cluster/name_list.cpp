// SPDX-License-Identifier: Apache-2.0
#include "cluster/name_list.h"

#include <algorithm>

#include "migration/feature_set.h"

namespace scout::cluster {

std::string name_list(const std::vector<std::string>& first, std::size_t all) {
    const auto more = all - first.size();
    return migration::join(first) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string first_names(const std::vector<std::string>& all, std::size_t most) {
    const auto shown = static_cast<std::ptrdiff_t>(std::min(most, all.size()));
    return name_list({all.begin(), all.begin() + shown}, all.size());
}

}  // namespace scout::cluster
