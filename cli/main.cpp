// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include <unistd.h>

#include "cli/app.h"
#include "cli/fleet.h"

namespace {

/// A terminal that shows colours, and nobody who asked for none (no-color.org).
bool wants_colour() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
        return std::string_view(value == nullptr ? "" : value);
    };
    return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
           variable("TERM") != "dumb";
}

bool write_out(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
}

void tell(std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return scout::cli::run(argc, argv,
                               {.colour = wants_colour(),
                                .progress = ::isatty(STDERR_FILENO) == 1,
                                .open_fleet = scout::cli::open_fleet,
                                .write = write_out,
                                .tell = tell});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "scoutctl: internal error: %s\n", error.what());
        return scout::cli::exit_code::error;
    }
}
