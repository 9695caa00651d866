// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"
#include "base/logging.h"
#include "base/system_text.h"

namespace scout {
namespace {

constexpr std::size_t holder_limit = 64;

std::string holder_of(int descriptor) {
    const auto text = read_descriptor(descriptor, holder_limit);
    return text && !text->empty() ? "process " + log_value(*text) : "another process";
}

tl::unexpected<Error> system_fault(const std::filesystem::path& path) {
    return fail(Errc::unavailable, path.string() + ": " + system_text(errno));
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& path) {
    UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600)};
    if (!file) {
        return system_fault(path);
    }
    int locked = 0;
    do {
        locked = ::flock(file.get(), LOCK_EX | LOCK_NB);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) {
        return fail(Errc::refused, path.string() + " is held by " + holder_of(file.get()));
    }
    if (locked != 0) {
        return system_fault(path);
    }
    // Only for the message above: the lock holds without it, on a full disk too.
    const auto pid = std::to_string(::getpid());
    if (::ftruncate(file.get(), 0) == 0) {
        static_cast<void>(::pwrite(file.get(), pid.data(), pid.size(), 0) == 0);
    }
    return FileLock{std::move(file)};
}

}  // namespace scout
