// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "launcher/domain_json.h"
#include "launcher/launcher_table.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::launcher {

/// A node's launchers, for who acts on what they say. Loop thread.
class Launchers {
public:
    Launchers() = default;
    virtual ~Launchers() = default;
    Launchers(const Launchers&) = delete;
    Launchers& operator=(const Launchers&) = delete;
    Launchers(Launchers&&) = delete;
    Launchers& operator=(Launchers&&) = delete;

    /// Each launcher with its domain as told last: mark, migration, VMI.
    [[nodiscard]] virtual const LauncherTable& launchers() const noexcept = 0;
    /// The folder of pods can be read: launchers() has all that there are, asked or not.
    [[nodiscard]] virtual bool looked() const noexcept = 0;
    /// Told after a launcher came, went, or said something else than before.
    [[nodiscard]] virtual hypervisor::Subscription watch_launchers(
        std::function<void(const LauncherTable&)> handler) = 0;

    /// Asks the launchers of these pods for their domains, ahead of all others. Returns once each
    /// has answered a call that began now or later, or failed to, or at the limit; those that are
    /// not there are not waited for. What they said is in launchers().
    [[nodiscard]] virtual Task<> ask_now(std::vector<std::string> pods,
                                         std::chrono::milliseconds limit) = 0;
    /// Errors: not_found (no such launcher, or one that cannot be asked), those of LauncherClient.
    [[nodiscard]] virtual Task<Result<std::optional<DomainStats>>> stats(std::string pod_uid) = 0;
    /// How fast its guest writes, in MiB/s: libvirt measures for a second, and holds up a migration
    /// meanwhile. In stock KubeVirt nobody has it measured, and stats() does not tell then. Errors
    /// as above.
    [[nodiscard]] virtual Task<Result<std::uint64_t>> dirty_rate(std::string pod_uid) = 0;
};

}  // namespace scout::launcher
