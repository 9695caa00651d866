// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "base/unique_fd.h"
#include "launcher/domain_json.h"

namespace scout::wire {
class CallHome;
}  // namespace scout::wire

namespace scout::launcher {

/// How long one call may take; KubeVirt's own limits for the same calls (dossier §1.3).
struct CallLimits {
    std::chrono::milliseconds handshake{2'000};
    std::chrono::milliseconds call{5'000};
    std::chrono::milliseconds dirty_rate{20'000};  ///< it measures for a second, and may queue
};

/// Asks one launcher over its cmd socket, and only what changes nothing (dossier §1.4). Loop
/// thread. Calls may be under way side by side; what is under way when it goes is given up.
///
/// Errors of all calls: unavailable (the connection broke, or the launcher says that it cannot
/// tell), timed_out, cancelled, invalid (an answer that is too large or cannot be read), not_found
/// (this launcher is too old to know the call: launchers of running VMs stay as old as they are,
/// §1.3).
class LauncherClient {
public:
    /// Takes a connected unix stream socket; nothing is said on it yet. `home` must outlive it.
    /// Errors: internal (no socket), unavailable (the system has no more of them).
    [[nodiscard]] static Result<std::unique_ptr<LauncherClient>> open(wire::CallHome& home,
                                                                      UniqueFd socket,
                                                                      CallLimits limits = {});
    LauncherClient() = default;
    virtual ~LauncherClient() = default;
    LauncherClient(const LauncherClient&) = delete;
    LauncherClient& operator=(const LauncherClient&) = delete;
    LauncherClient(LauncherClient&&) = delete;
    LauncherClient& operator=(LauncherClient&&) = delete;

    /// Must come first. Errors besides: refused (it speaks no version that we do).
    [[nodiscard]] virtual Task<Status> handshake() = 0;
    /// Nothing: no domain is defined.
    [[nodiscard]] virtual Task<Result<std::optional<Domain>>> domain() = 0;
    /// At most 3.25 s old: the launcher remembers them so long. Nothing: no domain is defined.
    [[nodiscard]] virtual Task<Result<std::optional<DomainStats>>> stats() = 0;
    /// How fast the guest writes to its memory, in MiB/s. The guest is measured for a second,
    /// unless it was within the last 3 s.
    [[nodiscard]] virtual Task<Result<std::uint64_t>> dirty_rate() = 0;
    [[nodiscard]] virtual Task<Result<std::string>> qemu_version() = 0;
    [[nodiscard]] virtual Task<Status> ping() = 0;
};

}  // namespace scout::launcher
