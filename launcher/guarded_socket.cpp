// SPDX-License-Identifier: Apache-2.0
#include "launcher/guarded_socket.h"

#include <array>
#include <cerrno>
#include <utility>

#include <boost/system/error_code.hpp>
#include <sys/socket.h>

#include "base/system_text.h"

namespace scout::launcher {
namespace {

using boost::system::error_code;
using Wait = asio::posix::stream_descriptor::wait_type;

constexpr std::size_t portion = 16'384;
/// Before anything is asked: HTTP/2's settings.
constexpr std::size_t greeting = 16'384;

bool is_later(int error) {
    return error == EAGAIN || error == EINTR;
}

}  // namespace

Result<GuardedSocket::Made> GuardedSocket::make(const asio::any_io_executor& loop,
                                                UniqueFd launcher) {
    std::array<int, 2> pair{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
        const int error = errno;
        return fail(Errc::unavailable, "no pair of sockets: " + system_text(error));
    }
    UniqueFd inside{pair[0]};
    UniqueFd end{pair[1]};
    auto guard = std::make_shared<GuardedSocket>(loop, std::move(launcher), std::move(inside));
    guard->start();
    return Made{.guard = std::move(guard), .end = std::move(end)};
}

GuardedSocket::GuardedSocket(const asio::any_io_executor& loop, UniqueFd launcher, UniqueFd inside)
    : launcher_(loop, launcher.release()), inside_(loop, inside.release()), left_(greeting) {}

void GuardedSocket::start() {
    wait_for_bytes(answers_);
    wait_for_bytes(questions_);
}

void GuardedSocket::close() {
    error_code ignored;
    launcher_.close(ignored);
    inside_.close(ignored);
}

void GuardedSocket::wait_for_bytes(Way& way) {
    way.from.async_wait(Wait::wait_read,
                        [self = shared_from_this(), &way](const error_code& error) {
                            if (!error && way.from.is_open()) {
                                self->take(way);
                            }
                        });
}

void GuardedSocket::wait_for_room(Way& way) {
    way.to.async_wait(Wait::wait_write, [self = shared_from_this(), &way](const error_code& error) {
        if (!error && way.to.is_open()) {
            self->give(way);
        }
    });
}

void GuardedSocket::take(Way& way) {
    std::array<char, portion> bytes{};
    const auto size = ::recv(way.from.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) {
        if (size < 0 && is_later(errno)) {
            wait_for_bytes(way);
        } else {
            close();
        }
        return;
    }
    const auto taken = static_cast<std::size_t>(size);
    if (way.counted) {
        if (taken > left_) {
            exceeded_ = true;
            close();
            return;
        }
        left_ -= taken;
    }
    way.rest.assign(bytes.data(), taken);
    give(way);
}

void GuardedSocket::give(Way& way) {
    const auto size = ::send(way.to.native_handle(), way.rest.data(), way.rest.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && !is_later(errno)) {
        close();
        return;
    }
    way.rest.erase(0, size < 0 ? 0 : static_cast<std::size_t>(size));
    if (!way.rest.empty()) {
        wait_for_room(way);
        return;
    }
    std::string{}.swap(way.rest);
    wait_for_bytes(way);
}

}  // namespace scout::launcher
