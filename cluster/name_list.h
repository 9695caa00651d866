// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace scout::cluster {

/// "a, b and 3 more": the first of `all` names, for messages.
[[nodiscard]] std::string name_list(const std::vector<std::string>& first, std::size_t all);

}  // namespace scout::cluster
