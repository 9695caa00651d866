// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"

namespace scout::test {

/// A unix socket behind which nobody speaks gRPC: connections wait for ever, or get some bytes.
class RawListener {
public:
    /// `says`: sent to each caller, whose connection is closed then; empty: nobody is answered.
    explicit RawListener(const std::filesystem::path& path, std::string says = {})
        : says_(std::move(says)) {
        std::filesystem::create_directories(path.parent_path());
        socket_ = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
                0 ||
            ::listen(socket_.get(), 16) != 0) {
            throw std::system_error(errno, std::generic_category(), path.string());
        }
        if (!says_.empty()) {
            answering_ = std::thread([this] { answer(); });
        }
    }
    ~RawListener() {
        ::shutdown(socket_.get(), SHUT_RDWR);
        if (answering_.joinable()) {
            answering_.join();
        }
    }
    RawListener(const RawListener&) = delete;
    RawListener& operator=(const RawListener&) = delete;
    RawListener(RawListener&&) = delete;
    RawListener& operator=(RawListener&&) = delete;

private:
    void answer() const {
        for (;;) {
            const UniqueFd caller{::accept(socket_.get(), nullptr, nullptr)};
            if (!caller) {
                return;
            }
            static_cast<void>(::send(caller.get(), says_.data(), says_.size(), MSG_NOSIGNAL));
        }
    }

    std::string says_;
    UniqueFd socket_;
    std::thread answering_;
};

}  // namespace scout::test
