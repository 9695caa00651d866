// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/access.h"
#include "kube/exec_plugin.h"

namespace scout::kube {

struct ClientCertificate {
    std::string certificate;  ///< PEM
    std::string key;          ///< PEM
};

/// Who a request says it is from.
struct Identity {
    std::string authorization;  ///< value of the header; empty for none
    /// What a credential plugin gave; null: the access's own, if it has one.
    std::shared_ptr<const ClientCertificate> certificate;
    std::uint64_t version = 0;  ///< another number, another identity
};

/// The identity of one access, kept fresh.
///
/// A token file is read again after a minute, and at once when the server refused its token: tokens
/// that are bound to a pod are replaced by the kubelet before they end. A credential plugin runs
/// when there is no credential yet, when it expired, and when the server refused it; all callers
/// wait for one run. A token file that cannot be read any more leaves the last token in force and
/// is told in the log, once.
/// Loop thread only; the clock must outlive it, and it must outlive its calls.
class Credentials {
public:
    Credentials(ClusterAccess access, const Clock& clock);

    /// Errors: of the plugin (kube/exec_plugin.h), or unavailable: no token could be read so far.
    [[nodiscard]] Task<Result<Identity>> current();

    /// After 401 to the identity of this version: true if there is another one now, so that the
    /// request may be made again. A plugin that ran less than 10 s ago does not run again.
    [[nodiscard]] Task<Result<bool>> renew(std::uint64_t refused);

private:
    class Running;

    [[nodiscard]] Task<> wait_for_other_run();
    [[nodiscard]] bool is_due() const;
    [[nodiscard]] Task<Status> read();
    [[nodiscard]] Status read_token_file();
    [[nodiscard]] Task<Status> ask_plugin();
    void take(std::string token, std::shared_ptr<const ClientCertificate> certificate);

    ClusterAccess access_;
    const Clock& clock_;
    Identity identity_;
    std::optional<SteadyTime> read_at_;
    std::optional<WallTime> expires_;
    std::optional<SteadyTime> failed_at_;  ///< the last run of a plugin
    Error failure_;                        ///< of that
    bool complained_ = false;
    std::shared_ptr<asio::steady_timer> running_;  ///< while a plugin runs: ends with the run
};

}  // namespace scout::kube
