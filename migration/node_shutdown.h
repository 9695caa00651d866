// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// How long a kubelet lets pods stop when its node shuts down (dossier §12.2; fields of its
/// configuration). Pure; any thread; nothing here fails.
namespace scout::migration {

struct ShutdownPriority {
    std::int64_t priority = 0;  ///< of pods, this and higher ones
    std::chrono::seconds grace{0};

    friend bool operator==(const ShutdownPriority&, const ShutdownPriority&) = default;
};

struct NodeShutdown {
    std::chrono::milliseconds total{0};         ///< shutdownGracePeriod
    std::chrono::milliseconds critical{0};      ///< shutdownGracePeriodCriticalPods, a part of it
    std::vector<ShutdownPriority> by_priority;  ///< shutdownGracePeriodByPodPriority

    friend bool operator==(const NodeShutdown&, const NodeShutdown&) = default;
};

/// What a pod of this priority is given at most. None: the kubelet does not wait for pods at all,
/// its own default; whatever stops the services of the node ends them.
[[nodiscard]] std::optional<std::chrono::seconds> shutdown_grace(const NodeShutdown& shutdown,
                                                                 std::int64_t priority = 0);

/// So long it keeps the node from shutting down in all; zero: not at all.
[[nodiscard]] std::chrono::milliseconds delay_of(const NodeShutdown& shutdown);

/// What an admin does to give pods more time. The kubelet does not start with both
/// shutdownGracePeriod and shutdownGracePeriodByPodPriority.
[[nodiscard]] std::string_view how_to_give_more(const NodeShutdown& shutdown) noexcept;

/// That of virt-handler (KubeVirt's PriorityClass kubevirt-cluster-critical). It is less than the
/// 2,000,000,000 from which on the kubelet counts pods as critical.
inline constexpr std::int64_t handler_priority = 1'000'000'000;

/// Whether virt-handler is told to stop together with pods that have no priority: it ends then, and
/// begins no migration any more. So it is unless shutdownGracePeriodByPodPriority has a step
/// between them.
[[nodiscard]] bool handler_stops_with_vms(const NodeShutdown& shutdown);

/// What the node's login manager (logind) tells of its shutdown. It waits for those who hold a
/// delay lock, the kubelet among them, and never longer than its own limit.
struct LoginManager {
    bool shutting_down = false;                  ///< PreparingForShutdown
    bool kubelet_delays = false;                 ///< the kubelet holds a delay lock on shutdowns
    std::chrono::microseconds longest_delay{0};  ///< InhibitDelayMaxUSec

    friend bool operator==(const LoginManager&, const LoginManager&) = default;
};

/// The same, as far as the login manager, if it is known, lets the kubelet wait. None also if the
/// kubelet holds no lock, whatever its configuration says.
[[nodiscard]] std::optional<std::chrono::seconds> shutdown_grace(
    const NodeShutdown& shutdown, const std::optional<LoginManager>& manager,
    std::int64_t priority = 0);

}  // namespace scout::migration
