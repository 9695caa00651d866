// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <prometheus/registry.h>

#include "agent/evacuation_metrics.h"
#include "agent/evacuator.h"
#include "agent/hook_server.h"
#include "agent/hook_service.h"
#include "base/clock.h"
#include "base/offload.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "daemon/health.h"
#include "launcher/launchers.h"

namespace scout::agent {

/// What keeps a node from killing its VMs: their evacuations, and the node hook that holds them
/// meanwhile. Loop thread; its parts must outlive it.
class Protection {
public:
    struct Options {
        Evacuations::Options evacuations;
        std::string hook_socket;  ///< empty: no hook, so nothing is held
        /// Where a restart finds since when launchers are marked; empty: nowhere.
        std::filesystem::path state_dir;
    };
    struct Parts {
        asio::any_io_executor loop;
        const Clock& clock;
        BlockingPool& pool;
        launcher::Launchers& launchers;
        prometheus::Registry& registry;
        bool has_leader;             ///< somebody may tell the rules
        std::function<void()> tell;  ///< there are messages for the leader
    };
    Protection(Options options, Parts parts);

    void spawn(TaskScope& scope);
    /// After the scope is closed.
    [[nodiscard]] Task<> stop();
    /// What protects, and what keeps the agent from it.
    void tell(daemon::Health& health) const;

    [[nodiscard]] Evacuations& evacuations() noexcept { return evacuator_.evacuations(); }

private:
    [[nodiscard]] Task<> serve_hook();

    Options options_;
    Parts parts_;
    EvacuationMetrics metrics_;
    Evacuator evacuator_;
    HookService service_;
    std::optional<HookServer> server_;
};

}  // namespace scout::agent
