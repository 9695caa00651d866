// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <prometheus/registry.h>

#include "agent/login_manager.h"
#include "agent/pressure_metrics.h"
#include "base/clock.h"
#include "base/task.h"
#include "daemon/health.h"
#include "migration/node_shutdown.h"

namespace scout::agent {

/// Whether the node shuts down, and how long its kubelet keeps it from that for the pods' sake.
/// Loop thread; the parts outlive it.
class ShutdownWatch {
public:
    struct Parts {
        asio::any_io_executor loop;
        const Clock& clock;
        prometheus::Registry& registry;
        daemon::Health& health;
        std::filesystem::path system_bus;  ///< socket of the node's system bus
        /// What its configuration says; none: not known.
        std::function<std::optional<migration::NodeShutdown>()> kubelet;
        /// It begins, or does not go on; and how much is left for pods: none if nobody waits for
        /// them, or it is not known.
        std::function<void(bool begins, std::optional<std::chrono::seconds> left)> turned = {};
        std::chrono::milliseconds again = std::chrono::minutes{1};
    };
    explicit ShutdownWatch(Parts parts);

    /// What the kubelet's configuration says has changed: what is left of a shutdown, too.
    void tell_again();

    /// Until cancelled.
    [[nodiscard]] Task<> run() { return manager_.run(); }

    /// What a pod without priority is given that is told to stop now by the node's shutdown; while
    /// it is known that the node does not shut down: none. Where that is not known: what its
    /// shutdown would give. None also if the kubelet does not wait.
    [[nodiscard]] std::optional<std::chrono::seconds> grace() const;

    /// None: not known.
    [[nodiscard]] const std::optional<migration::LoginManager>& login() const noexcept {
        return manager_.state();
    }

private:
    void changed();
    [[nodiscard]] std::string left_text(std::optional<std::chrono::seconds> left) const;
    [[nodiscard]] std::string doubt() const;

    Parts parts_;
    LoginManagerWatch manager_;
    GaugeSet shutting_down_;
    std::optional<SteadyTime> begun_at_;
    std::string told_;
};

}  // namespace scout::agent
