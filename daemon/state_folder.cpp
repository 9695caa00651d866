// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/unique_fd.h"

namespace scout::daemon {
namespace {

namespace fs = std::filesystem;

std::string expected(const std::string& found) {
    return "expected a folder that this process may write, found " + found +
           ": choose another folder, or change its owner or mode";
}

/// The folder itself, or the nearest one above that is there.
fs::path nearest_there(fs::path folder) {
    std::error_code error;
    while (fs::status(folder, error).type() == fs::file_type::not_found &&
           folder.has_relative_path()) {
        folder = folder.parent_path();
    }
    return folder;
}

/// Disk full and file systems that are read-only show in a file only.
std::error_code write_probe(const fs::path& folder) {
    auto name = (folder / ".probe-XXXXXX").string();
    const UniqueFd file{::mkostemp(name.data(), O_CLOEXEC)};
    if (!file) {
        return {errno, std::generic_category()};
    }
    const bool written = ::write(file.get(), "probe\n", 6) == 6;
    const std::error_code error{written ? 0 : errno, std::generic_category()};
    ::unlink(name.c_str());
    return error;
}

}  // namespace

std::string state_folder_fault(const fs::path& folder) {
    // A daemon's working directory is nobody's choice.
    if (!folder.is_absolute()) {
        return "expected an absolute path, found " + log_value(folder.string());
    }
    const auto there = nearest_there(folder);
    std::error_code error;
    const auto type = fs::status(there, error).type();
    // Whoever may not look at it may be another user than the daemon's.
    if (error != std::errc::permission_denied && type != fs::file_type::directory) {
        return expected(log_value(there.string()) + ", which is no folder");
    }
    return {};
}

Status make_state_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) {
        error = write_probe(folder);
    }
    if (error) {
        return fail(Errc::invalid, expected(log_value(folder.string()) +
                                            ", where it may not: " + error.message()));
    }
    return {};
}

}  // namespace scout::daemon
