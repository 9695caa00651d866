// SPDX-License-Identifier: Apache-2.0
#include "cluster/name_list.h"

#include "migration/feature_set.h"

namespace scout::cluster {

std::string name_list(const std::vector<std::string>& first, std::size_t all) {
    const auto more = all - first.size();
    return migration::join(first) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace scout::cluster
