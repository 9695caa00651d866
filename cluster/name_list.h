// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace scout::cluster {

/// "a, b and 3 more": the first of `all` names, for messages.
[[nodiscard]] std::string name_list(const std::vector<std::string>& first, std::size_t all);

/// The same of all of them, of which so many are named.
[[nodiscard]] std::string first_names(const std::vector<std::string>& all, std::size_t most = 5);

}  // namespace scout::cluster
