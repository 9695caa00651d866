// SPDX-License-Identifier: Apache-2.0
#include "tests/support/environment.h"

#include <cstdlib>

namespace scout::test {

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
    return value == nullptr ? std::string{} : value;
}

void set_environment(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): see the header
}

void unset_environment(const char* name) {
    ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
}

}  // namespace scout::test
