// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/clock.h"
#include "base/task.h"
#include "base/task_scope.h"
#include "cluster/move_progress.h"
#include "kube/informer.h"
#include "kube/objects/migration.h"
#include "kube/objects/vmi.h"
#include "kube/transport.h"

namespace scout::cli {

/// How a migration went, as far as it was followed.
struct FollowedMove {
    cluster::MoveProgress progress;
    std::chrono::seconds took{0};
    bool interrupted = false;  ///< somebody stopped following it: it goes on
    std::string lost;          ///< why it could not be followed to its end; empty: it was
};

/// Watches one migration and its VMI until it has ended, or until SIGINT or SIGTERM. The migration
/// is not touched. Runs the loop, which nobody else may.
class MoveFollower {
public:
    /// Called when there is news, and every now and then while there is none.
    using Tell = std::function<void(const cluster::MoveProgress&, std::chrono::seconds)>;

    MoveFollower(kube::Transport& transport, const Clock& clock, asio::io_context& loop,
                 const kube::Migration& move, Tell tell);

    [[nodiscard]] FollowedMove run();

private:
    using Move = kube::Informer<kube::Migration>::Pointer;

    [[nodiscard]] Task<> tick();
    void look();
    void tell(cluster::MoveProgress progress);
    void end();

    const Clock& clock_;
    asio::io_context& loop_;
    std::string uid_;
    std::string space_;
    std::string name_;
    std::string vmi_name_;
    Tell tell_;
    kube::Informer<kube::Migration> moves_;
    kube::Informer<kube::Vmi> vmis_;
    TaskScope scope_;
    asio::signal_set signals_;
    SteadyTime begun_{};
    SteadyTime well_at_{};  ///< when the server told all, last
    Move last_;
    std::optional<SteadyTime> final_since_;  ///< by its own word; the VMI may lag
    std::optional<cluster::MoveProgress> told_;
    SteadyTime told_at_{};
    FollowedMove out_;
    bool ending_ = false;
};

}  // namespace scout::cli
