// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_data.h"

#include <cstdlib>
#include <system_error>

namespace scout::test {

std::optional<std::filesystem::path> test_data() {
    const char* folder = std::getenv("SCOUT_TEST_DATA");  // NOLINT(concurrency-mt-unsafe)
    std::error_code ignored;
    if (folder == nullptr || !std::filesystem::is_directory(folder, ignored)) {
        return std::nullopt;
    }
    return std::filesystem::path{folder};
}

}  // namespace scout::test
