// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "libvirt_glue/handles.h"
#include "libvirt_glue/mailbox.h"

namespace scout::libvirt_glue {

struct LiveQuestion {
    std::string uri;
    std::uint64_t number = 0;  ///< of the connection; travels with its arrivals
    int keepalive_seconds = 5;
    unsigned keepalive_count = 3;
};

struct CallbackContext;

/// An open, read-only connection with its callbacks registered: they copy plain data into the
/// mailbox and call nothing of libvirt that could wait. Opening and destroying block (pool thread);
/// the destructor takes the callbacks off first. An EventThread must be running.
class LiveConnection {
public:
    /// Errors: those of libvirt; a kind of event that this libvirt lacks is no error.
    [[nodiscard]] static Result<std::shared_ptr<LiveConnection>> open(
        const LiveQuestion& question, std::shared_ptr<Mailbox> mailbox);

    ~LiveConnection();
    LiveConnection(const LiveConnection&) = delete;
    LiveConnection& operator=(const LiveConnection&) = delete;
    LiveConnection(LiveConnection&&) = delete;
    LiveConnection& operator=(LiveConnection&&) = delete;

    [[nodiscard]] virConnectPtr get() const noexcept { return connection_.get(); }

private:
    explicit LiveConnection(ConnectHandle connection);

    std::unique_ptr<CallbackContext> close_context_;  ///< outlives the connection
    ConnectHandle connection_;
    std::vector<int> callbacks_;
    bool close_registered_ = false;
};

}  // namespace scout::libvirt_glue
