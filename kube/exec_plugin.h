// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/access.h"

namespace scout::kube {

inline constexpr std::string_view exec_v1 = "client.authentication.k8s.io/v1";
inline constexpr std::string_view exec_v1beta1 = "client.authentication.k8s.io/v1beta1";

/// What a plugin printed. A token, a certificate with its key, or both.
struct ExecCredential {
    std::string token;
    std::string certificate;          ///< PEM
    std::string key;                  ///< PEM
    std::optional<WallTime> expires;  ///< none: good until the server says 401
};

/// What the plugin is told in KUBERNETES_EXEC_INFO: never interactive; the cluster if it wants it.
/// `authority` is the PEM text of the cluster's authority.
[[nodiscard]] std::string exec_info(const ClusterAccess& access, std::string_view authority);

/// Errc::invalid says what in the output was expected; nothing of the output is repeated.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view output,
                                                           std::string_view api_version);

/// Runs the plugin of the access, which must have one, within the limit. Errors name the program
/// and its install hint: unavailable (not there, failed), timed_out, invalid (wrong output).
[[nodiscard]] Task<Result<ExecCredential>> run_exec_plugin(ClusterAccess access,
                                                           std::chrono::milliseconds limit);

}  // namespace scout::kube
