// SPDX-License-Identifier: Apache-2.0
#include "aggregator/agent_certificates.h"

#include <algorithm>
#include <utility>

#include <boost/beast/core/string.hpp>

namespace scout::aggregator {
namespace {

/// A request with a key on P-256 has some 400 bytes.
constexpr std::size_t longest_request = 4096;

/// Who is called is told by the name beside it. No node can have this one, which some take for a
/// name too.
constexpr const char* common_name = "virt-scout agent";

/// As TLS clients match names: a wildcard stands for one label.
bool covers(std::string_view name, std::string_view node) {
    if (name.starts_with("*.")) {
        name.remove_prefix(1);
        const auto dot = node.find('.');
        node.remove_prefix(dot == std::string_view::npos ? node.size() : dot);
    }
    return boost::beast::iequals(name, node);
}

}  // namespace

void AgentCertificates::use(const StoredAuthority& authority) {
    if (authority_ != authority) {
        if (authority_) {
            cleanse(authority_->current.key);
        }
        authority_ = authority;
    }
}

AgentCertificates::AgentCertificates(std::vector<std::string> reserved, CertificateRules rules,
                                     const Clock& clock)
    : reserved_(std::move(reserved)), rules_(rules), clock_(clock) {}

Result<std::string> AgentCertificates::sign(const std::string& node, std::string_view request) {
    const auto now = clock_.wall();
    if (!authority_) {
        return fail(Errc::unavailable,
                    "the aggregator has no authority of its own to sign with: it has not read it "
                    "yet, or serves with tls-cert and tls-key");
    }
    // The first one of all is the only one that anybody knows.
    if (!authority_->previous.empty() && !is_settled(*authority_, now, rules_)) {
        return fail(Errc::unavailable,
                    "the authority was renewed just now and peers may not know "
                    "it yet");
    }
    const bool ours = std::any_of(reserved_.begin(), reserved_.end(),
                                  [&node](const auto& name) { return covers(name, node); });
    if (ours) {
        return fail(Errc::refused,
                    "node " + node +
                        " has a name of the aggregator itself, which only that may "
                        "prove to have: rename the node, or the aggregator's https-names");
    }
    if (request.size() > longest_request) {
        return fail(Errc::invalid, "expected a signing request of at most " +
                                       std::to_string(longest_request) + " bytes, found " +
                                       std::to_string(request.size()));
    }
    const auto validity = serving_validity(*authority_, now, rules_);
    if (!validity) {
        return fail(validity.error());
    }
    auto chain = sign_request(authority_->current, request,
                              {.common_name = common_name,
                               .names = {node},
                               .purpose = CertificatePurpose::both,
                               .validity = *validity});
    signed_ += chain ? 1 : 0;
    return chain;
}

}  // namespace scout::aggregator
