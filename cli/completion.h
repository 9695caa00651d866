// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace scout::cli {

/// A completion script made from the command line's own grammar: commands, options, values of
/// options with a fixed choice, and files where a file is expected. Shells: bash, zsh, fish;
/// Errc::invalid for others.
[[nodiscard]] Result<std::string> completion_script(const CLI::App& app, std::string_view shell);

}  // namespace scout::cli
