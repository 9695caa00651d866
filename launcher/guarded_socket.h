// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.h"
#include "base/task.h"
#include "base/unique_fd.h"

namespace scout::launcher {

/// Stands between a launcher and gRPC, and ends the connection to one that sends more than was
/// asked for: gRPC looks at the size of an answer only when all of it is in memory. Bytes pass
/// through a pair of sockets; none are kept while nothing is on its way. Loop thread.
///
/// Lives until one side closes, or close().
class GuardedSocket : public std::enable_shared_from_this<GuardedSocket> {
public:
    /// Between a connected socket of a launcher and the other end, which is for gRPC. Errors:
    /// unavailable (the system has no more sockets).
    struct Made {
        std::shared_ptr<GuardedSocket> guard;
        UniqueFd end;
    };
    [[nodiscard]] static Result<Made> make(const asio::any_io_executor& loop, UniqueFd launcher);

    GuardedSocket(const asio::any_io_executor& loop, UniqueFd launcher, UniqueFd inside);

    /// So many bytes may come from the launcher from now on.
    void allow(std::size_t bytes) noexcept { left_ = bytes; }
    /// More came, so the connection was ended.
    [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
    void close();

private:
    /// One direction.
    struct Way {
        asio::posix::stream_descriptor& from;
        asio::posix::stream_descriptor& to;
        bool counted;
        std::string rest;  ///< taken, and not given on yet
    };

    void start();
    void wait_for_bytes(Way& way);
    void wait_for_room(Way& way);
    void take(Way& way);
    void give(Way& way);

    asio::posix::stream_descriptor launcher_;
    asio::posix::stream_descriptor inside_;
    Way answers_{.from = launcher_, .to = inside_, .counted = true, .rest = {}};
    Way questions_{.from = inside_, .to = launcher_, .counted = false, .rest = {}};
    std::size_t left_;
    bool exceeded_ = false;
};

}  // namespace scout::launcher
