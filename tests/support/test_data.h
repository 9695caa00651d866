// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace scout::test {

/// The folder of real documents that the environment variable SCOUT_TEST_DATA names.
[[nodiscard]] std::optional<std::filesystem::path> test_data();

}  // namespace scout::test

/// Skips the test where that folder is not at hand; else declares `name` as its path.
#define SCOUT_TEST_DATA_OR_SKIP(name)                                        \
    const auto name##_found = scout::test::test_data();                      \
    if (!name##_found) {                                                     \
        GTEST_SKIP() << "SCOUT_TEST_DATA names no folder of real documents"; \
    }                                                                        \
    const std::filesystem::path& name = *name##_found
