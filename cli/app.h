// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/session.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace scout::cli {

struct Request;

/// The command line's grammar, filling `request`, which must outlive it.
[[nodiscard]] std::unique_ptr<CLI::App> make_app(Request& request);

/// The whole program: parses, reads the settings, runs the command. Answers the exit code; what it
/// has to say goes through `surroundings` only.
[[nodiscard]] int run(int argc, const char* const* argv, Surroundings surroundings);

}  // namespace scout::cli
