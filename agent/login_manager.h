// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "migration/node_shutdown.h"

struct sd_bus;

namespace scout::agent {

/// Follows logind over the node's system bus: whether the node shuts down, and whether the kubelet
/// has it wait. One connection, one signal, three questions a minute; a bus that goes away is tried
/// again. Loop thread.
class LoginManagerWatch {
public:
    struct Parts {
        asio::any_io_executor loop;
        std::filesystem::path socket;     ///< of the system bus
        std::function<void()> changed;    ///< the state or the trouble
        std::chrono::milliseconds again;  ///< how often what no signal tells is asked
    };
    explicit LoginManagerWatch(Parts parts) : parts_(std::move(parts)) {}

    /// Until cancelled.
    [[nodiscard]] Task<> run();

    /// None: it is not known. Of a node that shuts down it stays known after the bus is gone, and
    /// says of the kubelet what held before: it gives its lock back when its pods have ended.
    [[nodiscard]] const std::optional<migration::LoginManager>& state() const noexcept {
        return state_;
    }
    /// Why it is not known; empty if it is.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
    /// What was answered so far.
    struct Answers {
        std::optional<bool> shutting_down;
        std::optional<bool> kubelet_delays;
        std::optional<std::chrono::microseconds> longest_delay;
        std::string fault;
    };
    struct Replies;  ///< what sd-bus calls

    [[nodiscard]] Task<Error> follow();
    [[nodiscard]] Task<> wait(sd_bus* bus, SteadyTime until);
    void take();
    void set_trouble(std::string trouble);

    Parts parts_;
    Answers answers_;
    std::optional<migration::LoginManager> state_;
    std::string trouble_ = "it was not asked yet";
};

}  // namespace scout::agent
