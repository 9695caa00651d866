// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
    const scout::SystemClock clock;
    return scout::cli::run_on_terminal(argc, argv, clock,
                                       [argv](const auto& /*settings*/, const auto& /*access*/) {
                                           return scout::cli::hand_over(argv);
                                       });
}
