// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/certificates.h"
#include "base/clock.h"
#include "base/result.h"

// When certificates of our own are made and renewed. Pure.

namespace scout::aggregator {

/// The authority that all replicas share.
struct StoredAuthority {
    CertifiedKey current;
    std::string previous;  ///< certificate that it came after; may be empty

    friend bool operator==(const StoredAuthority&, const StoredAuthority&) = default;
};

/// Both kinds are renewed when two thirds of their life are over.
struct CertificateRules {
    std::chrono::hours authority_life = std::chrono::hours{24 * 365};
    std::chrono::hours serving_life = std::chrono::hours{24};
    /// Validity begins that much in the past: the clocks of those who check may be behind ours.
    std::chrono::hours backdated = std::chrono::hours{1};
    /// How long a previous authority stays known: far longer than what it signed lives.
    std::chrono::hours overlap = std::chrono::hours{24 * 7};
    /// A new authority signs what is served only when all have had time to learn of it.
    std::chrono::minutes settle = std::chrono::minutes{5};
};

/// Errc::invalid says what is wrong with it: damaged, half written, of two halves.
[[nodiscard]] Status check(const StoredAuthority& stored);

/// In order, and not due: to be left alone.
[[nodiscard]] bool is_right(const StoredAuthority& stored, WallTime now);

/// What the leader stores instead; `before` is empty if there is none. Of a damaged one is kept
/// what peers may still need.
[[nodiscard]] Result<StoredAuthority> renew(const StoredAuthority& before, WallTime now,
                                            const CertificateRules& rules);

/// What peers trust now: the certificates in PEM form, of a valid `stored`.
[[nodiscard]] std::string bundle(const StoredAuthority& stored, WallTime now,
                                 const CertificateRules& rules);

/// All have had time to learn of the current authority.
[[nodiscard]] bool is_settled(const StoredAuthority& stored, WallTime now,
                              const CertificateRules& rules);

/// Of a certificate that a valid `stored` issues now. Errc::invalid if it cannot any more.
[[nodiscard]] Result<Validity> serving_validity(const StoredAuthority& stored, WallTime now,
                                                const CertificateRules& rules);

/// The certificate that a replica serves.
class ServingCertificate {
public:
    /// The first name is the common name too.
    ServingCertificate(std::vector<std::string> names, CertificateRules rules);

    /// Looks at the stored authority, which must be valid. True: pair() is another one now.
    /// Errc::invalid if it cannot issue any more; what was in use stays so.
    [[nodiscard]] Result<bool> follow(const StoredAuthority& stored, WallTime now);

    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
    /// Empty before the first success.
    [[nodiscard]] const CertifiedKey& pair() const noexcept { return pair_; }
    [[nodiscard]] WallTime valid_until() const noexcept { return validity_.until; }

private:
    [[nodiscard]] bool should_change(const StoredAuthority& stored, WallTime now) const;

    std::vector<std::string> names_;
    CertificateRules rules_;
    CertifiedKey pair_;
    Validity validity_;
    std::string authority_;  ///< the certificate that signed it
};

}  // namespace scout::aggregator
