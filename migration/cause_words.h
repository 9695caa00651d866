// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "migration/cause.h"

/// The words that kubelets end pods with. Pure; any thread; nothing here fails.
namespace scout::migration {

/// What the kubelet says as it evicts a pod: own_limit or node_pressure with the resource, none if
/// the text is not one of its own. Versions 1.28 to 1.36 say the same; older ones too, but for what
/// follows the resource.
struct KubeletWords {
    Cause cause{};
    std::string resource;
};
[[nodiscard]] std::optional<KubeletWords> kubelet_words(std::string_view message);

/// Reasons of a pod's status by which a kubelet refuses a pod that is bound to its node already:
/// those of 1.20 to 1.36, but for Evicted and NodeShutdown, which tell more.
[[nodiscard]] bool is_refusal(std::string_view reason) noexcept;

/// Reason or message of a pod that ended, or was refused, because its node shut down; of kubelets
/// since 1.20.
[[nodiscard]] bool is_shutdown(std::string_view reason, std::string_view message) noexcept;

/// The same reason NodeShutdown has an Event of a node that does not shut down after all.
[[nodiscard]] bool is_shutdown_cancelled(std::string_view message) noexcept;

}  // namespace scout::migration
