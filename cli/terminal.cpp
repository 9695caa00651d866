// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "cli/app.h"

namespace scout::cli {
namespace {

constexpr const char* fleet_program = "scoutctl-fleet";

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

int run_on_terminal(int argc, char** argv, const Clock& clock, OpenFleet open_fleet) {
    try {
        return run(argc, argv,
                   {.colour = wants_colour(),
                    .progress = ::isatty(STDERR_FILENO) == 1,
                    .watched = ::isatty(STDOUT_FILENO) == 1,
                    .open_fleet = std::move(open_fleet),
                    .clock = &clock,
                    .write = write_out,
                    .tell = tell});
    } catch (const std::exception& error) {
        tell(std::string("scoutctl: internal error: ") + error.what());
        return exit_code::error;
    }
}

Result<std::unique_ptr<Fleet>> hand_over(char** argv) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return fail(Errc::internal, "cannot tell where this program is: " + error.message());
    }
    const auto folder = self.parent_path();
    const auto beside = folder / fleet_program;
    ::execv(beside.c_str(), argv);
    const std::error_code why(errno, std::generic_category());
    ::execv((folder.parent_path() / "libexec" / "virt-scout" / fleet_program).c_str(), argv);
    return fail(Errc::not_found, "cannot start " + beside.string() +
                                     ", which speaks to aggregators: " + why.message() +
                                     "; install it beside scoutctl");
}

}  // namespace scout::cli
