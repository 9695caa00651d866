// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace scout::cli::test {

/// What one run of the real scoutctl left behind.
struct Outcome {
    int code = -1;  ///< exit code; 128 + n for signal n
    std::string out;
    std::string err;
    long peak_kib = 0;  ///< the most that was ever resident
};

/// The small documents of ours, tests/data.
[[nodiscard]] std::filesystem::path small_documents();

/// Runs scoutctl (SCOUTCTL in the environment, else the one of this build) in the folder, with no
/// settings file, this text on stdin, and neither colours nor a terminal.
[[nodiscard]] Outcome scoutctl(const std::vector<std::string>& words,
                               const std::filesystem::path& folder = small_documents(),
                               const std::string& input = {});

}  // namespace scout::cli::test
