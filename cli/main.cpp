// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

int main(int argc, char** argv) {
    return scout::cli::run_on_terminal(argc, argv, [argv](const scout::cli::Settings& /*unused*/) {
        return scout::cli::hand_over(argv);
    });
}
