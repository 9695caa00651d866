// SPDX-License-Identifier: Apache-2.0
#include "aggregator/serving_authority.h"

#include <algorithm>
#include <utility>

namespace scout::aggregator {
namespace {

/// Distinct in a list of authorities; what tells them apart for programs are their keys.
std::string authority_name(WallTime now) {
    return "virt-scout CA " + rfc3339(now);
}

/// A previous certificate that peers still need: it can be read and holds on.
bool is_known_still(const std::string& certificate, WallTime now) {
    const auto validity = validity_of(certificate);
    return validity && now <= validity->until;
}

}  // namespace

Status check(const StoredAuthority& stored) {
    return check_authority(stored.current);
}

bool is_right(const StoredAuthority& stored, WallTime now) {
    const auto validity = validity_of(stored.current.chain);
    return validity && !is_due(*validity, now) && check(stored);
}

Result<StoredAuthority> renew(const StoredAuthority& before, WallTime now,
                              const CertificateRules& rules) {
    auto made = make_authority(
        authority_name(now), {.from = now - rules.backdated, .until = now + rules.authority_life});
    if (!made) {
        return fail(std::move(made.error()));
    }
    const auto& known =
        is_known_still(before.current.chain, now) ? before.current.chain : before.previous;
    return StoredAuthority{.current = *std::move(made),
                           .previous = is_known_still(known, now) ? known : std::string{}};
}

std::string bundle(const StoredAuthority& stored, WallTime now, const CertificateRules& rules) {
    const auto validity = validity_of(stored.current.chain);
    const bool fresh = validity && now < validity->from + rules.overlap;
    return fresh && is_known_still(stored.previous, now) ? stored.current.chain + stored.previous
                                                         : stored.current.chain;
}

bool is_settled(const StoredAuthority& stored, WallTime now, const CertificateRules& rules) {
    const auto validity = validity_of(stored.current.chain);
    return !validity || now >= validity->from + rules.backdated + rules.settle;
}

Result<Validity> serving_validity(const StoredAuthority& stored, WallTime now,
                                  const CertificateRules& rules) {
    const auto authority = validity_of(stored.current.chain);
    if (!authority) {
        return fail(authority.error());
    }
    if (now > authority->until) {
        return fail(Errc::invalid, "the authority expired at " + rfc3339(authority->until) +
                                       "; a leader renews it: is there one?");
    }
    return Validity{.from = now - rules.backdated,
                    .until = std::min(now + rules.serving_life, authority->until)};
}

ServingCertificate::ServingCertificate(std::vector<std::string> names, CertificateRules rules)
    : names_(std::move(names)), rules_(rules) {}

Result<bool> ServingCertificate::follow(const StoredAuthority& stored, WallTime now) {
    if (!should_change(stored, now)) {
        return false;
    }
    const auto validity = serving_validity(stored, now, rules_);
    if (!validity) {
        return fail(validity.error());
    }
    auto issued = issue_certificate(stored.current, {.common_name = names_.front(),
                                                     .names = names_,
                                                     .purpose = CertificatePurpose::server,
                                                     .validity = *validity});
    if (!issued) {
        return fail(std::move(issued.error()));
    }
    cleanse(pair_.key);
    pair_ = *std::move(issued);
    validity_ = *validity;
    authority_ = stored.current.chain;
    return true;
}

bool ServingCertificate::should_change(const StoredAuthority& stored, WallTime now) const {
    if (pair_.chain.empty() || is_due(validity_, now)) {
        return true;
    }
    if (authority_ == stored.current.chain) {
        return false;
    }
    return is_settled(stored, now, rules_) || authority_ != stored.previous;
}

}  // namespace scout::aggregator
