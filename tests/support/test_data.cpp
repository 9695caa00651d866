// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_data.h"

#include <system_error>

#include "tests/support/environment.h"

namespace scout::test {

std::optional<std::filesystem::path> test_data() {
    const auto folder = environment("SCOUT_TEST_DATA");
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
        return std::nullopt;
    }
    return std::filesystem::path{folder};
}

}  // namespace scout::test
