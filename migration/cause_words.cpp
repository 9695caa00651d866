// SPDX-License-Identifier: Apache-2.0
#include "migration/cause_words.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "migration/cause.h"

namespace scout::migration {
namespace {

/// What stands between `before` and the next of `ends`; none if `before` is not there.
std::optional<std::string_view> word_after(std::string_view text, std::string_view before,
                                           std::string_view ends) {
    const auto at = text.find(before);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + before.size());
    return text.substr(0, text.find_first_of(ends));
}

/// The resource behind a node condition, where the kubelet names only that.
std::string_view resource_of(std::string_view condition) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> known{
        {{"MemoryPressure", "memory"},
         {"DiskPressure", "ephemeral-storage"},
         {"PIDPressure", "pids"}}};
    for (const auto& [type, resource] : known) {
        if (condition.find(type) != std::string_view::npos) {
            return resource;
        }
    }
    return {};
}

/// Kubelets before 1.12 named signals of their own.
std::string modern(std::string_view resource) {
    if (resource == "nodefs" || resource == "imagefs") {
        return "ephemeral-storage";
    }
    return std::string{resource == "nodefsInodes" || resource == "imagefsInodes" ? "inodes"
                                                                                 : resource};
}

}  // namespace

std::optional<KubeletWords> kubelet_words(std::string_view message) {
    if (message.find("Usage of EmptyDir volume ") != std::string_view::npos) {
        const auto volume = word_after(message, "Usage of EmptyDir volume \"", "\"");
        return KubeletWords{.cause = Cause::own_limit,
                            .resource = volume ? "emptyDir " + std::string{*volume} : "emptyDir"};
    }
    if (message.find("exceeded its local ephemeral storage limit") != std::string_view::npos ||
        message.find("ephemeral local storage usage exceeds the total limit") !=
            std::string_view::npos ||
        message.find("local ephemeral storage usage exceeds the total limit") !=
            std::string_view::npos) {
        return KubeletWords{.cause = Cause::own_limit, .resource = "ephemeral-storage"};
    }
    if (const auto resource = word_after(message, "The node was low on resource: ", ". ,")) {
        return KubeletWords{.cause = Cause::node_pressure, .resource = modern(*resource)};
    }
    if (const auto condition = word_after(message, "The node had condition: ", ".")) {
        return KubeletWords{.cause = Cause::node_pressure,
                            .resource = std::string{resource_of(*condition)}};
    }
    return std::nullopt;
}

bool is_refusal(std::string_view reason) noexcept {
    constexpr std::array<std::string_view, 20> reasons{"NodeAffinity",
                                                       "NodePorts",
                                                       "NodeName",
                                                       "TaintToleration",
                                                       "UnexpectedAdmissionError",
                                                       "UnexpectedPredicateFailureType",
                                                       "UnknownReason",
                                                       "AdmissionFailed",
                                                       "TopologyAffinityError",
                                                       "SMTAlignmentError",
                                                       "InvalidNodeInfo",
                                                       "AppArmor",
                                                       "SysctlForbidden",
                                                       "PodOSSelectorNodeLabelDoesNotMatch",
                                                       "PodOSNotSupported",
                                                       "InitContainerRestartPolicyForbidden",
                                                       "SupplementalGroupsPolicyNotSupported",
                                                       "PodLevelResourcesNotSupported",
                                                       "PodFeatureUnsupported",
                                                       "VolumeAttachmentLimitExceeded"};
    return reason.starts_with("OutOf") ||
           std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

bool is_shutdown(std::string_view reason, std::string_view message) noexcept {
    return reason == "NodeShutdown" || reason == "Shutdown" ||
           message.find("imminent node shutdown") != std::string_view::npos;
}

bool is_shutdown_cancelled(std::string_view message) noexcept {
    return message.find("shutdown cancellation") != std::string_view::npos;
}

std::string_view to_string(Cause cause) noexcept {
    switch (cause) {
        case Cause::node_pressure:
            return "node-pressure";
        case Cause::own_limit:
            return "own-limit";
        case Cause::api_eviction:
            return "api-eviction";
        case Cause::preemption:
            return "preemption";
        case Cause::taint:
            return "taint";
        case Cause::liveness:
            return "liveness";
        case Cause::node_shutdown:
            return "node-shutdown";
        case Cause::kubelet_readmission:
            return "kubelet-readmission";
        case Cause::garbage_collection:
            return "garbage-collection";
        case Cause::node_removed:
            return "node-removed";
        case Cause::owner_delete:
            return "owner-delete";
        case Cause::guest_shutdown:
            return "guest-shutdown";
        case Cause::unknown:
            return "unknown";
    }
    return "unknown";
}

std::optional<Cause> cause_named(std::string_view word) noexcept {
    for (auto number = 0; number <= static_cast<int>(Cause::unknown); ++number) {
        const auto cause = static_cast<Cause>(number);
        if (to_string(cause) == word) {
            return cause;
        }
    }
    return std::nullopt;
}

}  // namespace scout::migration
