// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace scout::test {

/// Asks a program that answers each line of a file with one of standard output: runs `argv` and the
/// name of a file with `questions`, each without a line break. Many at once are as fast as it gets.
/// The answers are in the order of the questions. Throws std::runtime_error with its last words.
[[nodiscard]] std::vector<std::string> ask_program(std::vector<std::string> argv,
                                                   const std::vector<std::string>& questions);

/// Kubernetes' own code: `command` is filters, matches or selector (tests/bed/README.md). Needs
/// SCOUT_BED_OR_SKIP() before.
[[nodiscard]] std::vector<std::string> ask_kubernetes(const std::string& command,
                                                      const std::vector<std::string>& questions);

}  // namespace scout::test
