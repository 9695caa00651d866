// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
    const scout::SystemClock clock;
    return scout::cli::run_on_terminal(argc, argv, clock, scout::cli::open_fleet);
}
