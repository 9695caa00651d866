// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace scout::test {

// Of this process, before anything else in it could look at the same time.

/// Empty: the variable is not set, or to nothing.
[[nodiscard]] std::string environment(const char* name);
void set_environment(const char* name, const std::string& value);
void unset_environment(const char* name);

}  // namespace scout::test
