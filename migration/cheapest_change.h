// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "migration/comparison.h"

namespace scout::migration {

/// Of a guest that can go nowhere: what would have to be done so that it could go to one node, the
/// least that there is, as one clause. None: it can go somewhere, or nothing short of another CPU
/// or a change of the guest itself would help anywhere. Pure.
[[nodiscard]] std::optional<std::string> cheapest_change(const Placement& placement);

}  // namespace scout::migration
