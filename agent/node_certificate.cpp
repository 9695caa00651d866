// SPDX-License-Identifier: Apache-2.0
#include "agent/node_certificate.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/logging.h"

namespace scout::agent {
namespace {

/// After an answer that was none, and when none came.
constexpr std::chrono::minutes ask_again{1};

}  // namespace

NodeCertificate::NodeCertificate(const Clock& clock, Handler handler)
    : clock_(clock), handler_(std::move(handler)) {}

std::optional<SigningRequestMessage> NodeCertificate::next() {
    const auto now = clock_.steady();
    const bool is_there = validity_ && !is_due(*validity_, clock_.wall());
    if (is_there || (ask_again_at_ && now < *ask_again_at_)) {
        return std::nullopt;
    }
    ask_again_at_ = now + ask_again;
    auto request = make_signing_request();
    if (!request) {
        say(request.error());
        return std::nullopt;
    }
    asked_ = *std::move(request);
    return SigningRequestMessage{.pem = asked_->request};
}

void NodeCertificate::take(const SignedCertificate& answer) {
    const auto pair = certified(answer);
    if (!pair) {
        say(pair.error());
        return;
    }
    const auto validity = validity_of(pair->chain);
    if (!validity) {
        say(validity.error());
        return;
    }
    asked_.reset();
    if (const auto served = handler_(*pair, validity->until); !served) {
        say(served.error());
        return;
    }
    said_.clear();
    validity_ = *validity;
    spdlog::info("serving certificate changed valid_until={}", rfc3339(validity->until));
}

Result<CertifiedKey> NodeCertificate::certified(const SignedCertificate& answer) {
    if (!answer.error.empty()) {
        return fail(Errc::refused, answer.error);
    }
    if (!asked_) {
        return fail(Errc::invalid, "a certificate came that nobody asked for");
    }
    CertifiedKey pair{.chain = answer.chain, .key = asked_->key};
    if (const auto fits = check_key(pair); !fits) {
        return fail(fits.error());
    }
    return pair;
}

void NodeCertificate::say(const Error& trouble) {
    if (std::exchange(said_, trouble.message) != trouble.message) {
        spdlog::warn(
            "the serving certificate cannot be had or renewed, asked again in a minute reason={}",
            log_value(trouble.message));
    }
}

}  // namespace scout::agent
