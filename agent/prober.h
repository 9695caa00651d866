// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "agent/metrics.h"
#include "agent/node_reading.h"
#include "agent/snapshot.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/offload.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::agent {

struct ProberConfig {
    std::filesystem::path host_root = "/";
    std::filesystem::path state_dir;
    std::filesystem::path labeller_dir;  ///< empty: not looked at
    std::chrono::milliseconds interval = std::chrono::minutes{10};
    std::chrono::milliseconds labeller_rescan = std::chrono::minutes{1};
    std::chrono::milliseconds labeller_quiet{200};  ///< its files are written one after the other
};

/// Finds out what this node can run, again and again: the hypervisor's own answer, compared with
/// its answer before, and KubeVirt's labeller files, which are the yardstick where they are (design
/// §3).
///
/// Loop thread. The last good answer is kept when a source fails; the failure is reported beside
/// it.
class Prober {
public:
    struct Parts {
        asio::any_io_executor loop;
        hypervisor::Hypervisor& hypervisor;
        BlockingPool& pool;
        const Clock& clock;
        AgentMetrics& metrics;
    };

    /// `changed` is called after every look, on the loop.
    Prober(ProberConfig config, Parts parts, std::function<void()> changed, std::uint64_t seed);

    /// Probes at once and then in every interval, until cancelled.
    [[nodiscard]] Task<> run();
    /// Reads the labeller's files again when they change, until cancelled.
    [[nodiscard]] Task<> watch_labeller();

    /// What is to be reported; guests_error is not the prober's.
    [[nodiscard]] const HostPart& host() const noexcept { return host_; }
    /// The first probe ended, with an answer or an error that is reported.
    [[nodiscard]] bool probed() const noexcept { return probed_; }

private:
    [[nodiscard]] Task<bool> probe_once();
    [[nodiscard]] Task<Result<NodeReading>> ask_hypervisor();
    [[nodiscard]] Task<> look_at_labeller();
    void take_own(Result<NodeReading> reading);
    void take_labeller(Result<std::optional<NodeReading>> reading);
    void add_notices(const std::vector<std::string>& changes);
    void publish();

    ProberConfig config_;
    Parts parts_;
    std::function<void()> changed_;
    Backoff backoff_;
    std::mt19937_64 random_;
    std::optional<NodeReading> own_;
    std::string own_error_;
    std::optional<NodeReading> labeller_;
    std::string labeller_error_;
    /// The probe and the folder's watch both read the labeller's files, and what was read first may
    /// come last: the reading that began last is the one that holds.
    std::uint64_t labeller_looks_ = 0;
    std::uint64_t labeller_taken_ = 0;
    std::vector<std::string> notices_;
    std::vector<std::string> warnings_;
    HostPart host_;
    bool probed_ = false;
};

}  // namespace scout::agent
