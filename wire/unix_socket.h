// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scout::wire {

/// Errc::invalid for a path that no unix socket has: none, or over 107 bytes (the kernel's limit
/// for sun_path).
[[nodiscard]] Status check_unix_path(std::string_view path);

/// The place of a server's unix socket (case 30): taken in claim(), given back at the end.
///
/// The socket is bound to a private name beside the place and moved there once it listens: so of
/// two that start at once one is refused, nobody finds a socket that does not listen yet, and only
/// a stale one is ever taken away. Moves; any thread.
class UnixSocketPlace {
public:
    /// Errc::invalid as from check_unix_path(), and for a folder over 97 bytes, which leaves no
    /// room for the private name.
    [[nodiscard]] static Status check_path(const std::string& path);
    /// Errors: those of check_path(); Errc::refused, and nothing is touched, for a live peer, a
    /// file that is no socket, and a folder that is not there. A stale socket is fine.
    [[nodiscard]] static Result<UnixSocketPlace> claim(std::string path);
    ~UnixSocketPlace() { give_back(); }
    UnixSocketPlace(const UnixSocketPlace&) = delete;
    UnixSocketPlace& operator=(const UnixSocketPlace&) = delete;
    UnixSocketPlace(UnixSocketPlace&& other) noexcept;
    UnixSocketPlace& operator=(UnixSocketPlace&&) = delete;

    /// Where to bind and listen.
    [[nodiscard]] const std::string& private_name() const noexcept { return private_name_; }
    /// Moves the socket that listens to its place, from which only a stale one is taken away, also
    /// if another process does the same now. Errc::refused as in claim(), if somebody was quicker;
    /// Errc::unavailable if it cannot be moved.
    [[nodiscard]] Status publish();
    /// Takes the socket away, under whatever name it has, unless it is another's by now.
    void give_back() noexcept;

private:
    UnixSocketPlace(std::string path, std::string private_name)
        : path_(std::move(path)), private_name_(std::move(private_name)) {}

    std::string path_;
    std::string private_name_;
    bool published_ = false;
    std::uint64_t device_ = 0;  ///< with `inode_`: which socket is ours
    std::uint64_t inode_ = 0;
};

}  // namespace scout::wire
