// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/client.h"
#include "kube/signing_keys.h"

namespace scout::kube {

/// The keys by which an API server signs tokens, as it publishes them to every service account
/// (ClusterRole system:service-account-issuer-discovery).
///
/// Kept, and read again when one is asked for that is not among them; at most once in 10 s, however
/// many tokens come whose key nobody knows. Loop thread only; client and clock must outlive it.
class PublishedKeys {
public:
    PublishedKeys(Client& client, const Clock& clock) noexcept : client_(client), clock_(clock) {}

    /// The keys, with that one if the server has it. Errors, if it is not among those that are kept
    /// and they could not be read again: those of the client, and invalid. Cancelled is who was
    /// cancelled alone, also if others wait for what it reads.
    [[nodiscard]] Task<Result<std::shared_ptr<const SigningKeys>>> with(std::string key_id);

private:
    class Reading;

    /// Fails when it is cancelled, and then leaves all as it was; else trouble_ has its outcome.
    [[nodiscard]] Task<Status> read();

    Client& client_;
    const Clock& clock_;
    std::shared_ptr<const SigningKeys> keys_;
    /// Of the last read; none: it went well.
    std::optional<Error> trouble_{
        Error{Errc::unavailable, "the cluster's signing keys have not been read yet"}};
    SteadyTime next_read_{};
    std::shared_ptr<asio::steady_timer> reading_;  ///< ends when a read that is under way does
};

}  // namespace scout::kube
