// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "daemon/settings.h"

namespace scout::daemon {

/// How a daemon presents itself on its command line.
struct Program {
    std::string name;                      ///< "virt-scout-agent"
    std::string summary;                   ///< one sentence
    std::string examples;                  ///< whole lines, shown under "Examples:"
    std::filesystem::path default_config;  ///< read if it is there and --config is not given
};

/// Exit code for a wrong command line or configuration.
inline constexpr int exit_bad_config = 2;

/// Fills the settings from the file and then from the flags (flags win), and asks `validate` for
/// what is wrong with the result as a whole. Adds --config FILE, --check-config, --version and
/// --help. Answers the exit code if the program is to end now (help, version, --check-config, or
/// faults: all of them are listed on `err`), nothing if it is to run. A fault of validate() whose
/// key could not be read in the first place is not told twice.
[[nodiscard]] std::optional<int> configure(const Program& program,
                                           const std::vector<std::string>& arguments,
                                           const SettingList& settings,
                                           const std::function<Faults()>& validate,
                                           std::ostream& out, std::ostream& err);

/// argv without the program's name.
[[nodiscard]] std::vector<std::string> arguments_of(int argc, const char* const* argv);

}  // namespace scout::daemon
