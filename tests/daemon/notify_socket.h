// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace scout::test {

/// Plays the service manager: a datagram socket named by NOTIFY_SOCKET while it lives.
class NotifySocket {
public:
    NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        const auto path = (folder_.path() / "notify").string();
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        const void* raw = &address;
        if (::bind(socket_.get(), static_cast<const sockaddr*>(raw), sizeof(address)) != 0) {
            std::abort();
        }
        const timeval limit{.tv_sec = 5, .tv_usec = 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }
    ~NotifySocket() {
        ::unsetenv("NOTIFY_SOCKET");
        ::unsetenv("WATCHDOG_USEC");
        ::unsetenv("WATCHDOG_PID");
    }
    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;
    NotifySocket(NotifySocket&&) = delete;
    NotifySocket& operator=(NotifySocket&&) = delete;

    /// The next message, waiting up to 5 s; empty if none comes.
    [[nodiscard]] std::string next() const { return receive(0); }
    /// The next message if there is one.
    [[nodiscard]] std::string poll() const { return receive(MSG_DONTWAIT); }

private:
    [[nodiscard]] std::string receive(int flags) const {
        std::string text(1024, '\0');
        const auto size = ::recv(socket_.get(), text.data(), text.size(), flags);
        text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return text;
    }

    TemporaryFolder folder_;
    UniqueFd socket_;
};

}  // namespace scout::test
