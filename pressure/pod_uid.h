// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace scout::pressure {

/// A pod's UID becomes the name of a folder: nothing but letters, digits and dashes may be in it.
/// Errors: invalid. Any thread.
[[nodiscard]] Status check_pod_uid(std::string_view uid);

}  // namespace scout::pressure
