// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace scout {

/// What the system calls this errno: "No such file or directory". Take errno first: whatever is
/// called meanwhile, even for another argument, may change it. Any thread.
[[nodiscard]] std::string system_text(int error);

}  // namespace scout
