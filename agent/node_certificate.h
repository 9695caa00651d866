// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/messages.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/result.h"

namespace scout::agent {

/// What this agent shows to whom it serves: a certificate that the aggregator's leader signs for a
/// day, asked for over the stream of reports and anew once two thirds of its life are over. The key
/// is made here, lives in this process only, and is another one for each certificate. Loop thread;
/// the clock must outlive it.
class NodeCertificate {
public:
    /// Serves with the certificate from then on, or says why not.
    using Handler = std::function<Status(const CertifiedKey& pair, WallTime until)>;

    NodeCertificate(const Clock& clock, Handler handler);

    /// What to send now; nothing: a certificate is there, or was asked for a short while ago.
    [[nodiscard]] std::optional<SigningRequestMessage> next();

    /// The answer. What is wrong with it is logged, and asked again later; what is served stays so.
    void take(const SignedCertificate& answer);

private:
    [[nodiscard]] Result<CertifiedKey> certified(const SignedCertificate& answer);
    void say(const Error& trouble);

    const Clock& clock_;
    Handler handler_;
    std::optional<Validity> validity_;     ///< of what is served
    std::optional<SigningRequest> asked_;  ///< whose answer is awaited
    std::optional<SteadyTime> ask_again_at_;
    std::string said_;
};

}  // namespace scout::agent
