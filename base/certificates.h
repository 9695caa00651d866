// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace scout {

/// A certificate with its private key, both as PEM text. The chain is the certificate itself and
/// then, where needed, what leads from it to an authority that the peers know.
struct CertifiedKey {
    std::string chain;
    std::string key;

    friend bool operator==(const CertifiedKey&, const CertifiedKey&) = default;
};

/// To the second; both ends count as valid.
struct Validity {
    WallTime from;
    WallTime until;

    friend bool operator==(const Validity&, const Validity&) = default;
};

enum class CertificatePurpose : std::uint8_t {
    server,
    client,
    both,  ///< for peers that call each other
};

struct CertificateRequest {
    std::string common_name;         ///< at most 64 bytes, as X.520 has it
    std::vector<std::string> names;  ///< DNS names and literal addresses
    CertificatePurpose purpose = CertificatePurpose::server;
    Validity validity;
};

/// A new authority: ECDSA on P-256, signs certificates of servers and clients, no authorities.
/// Two of the same name are told apart by their key identifiers. Errc::invalid for a name that a
/// certificate cannot have. Any thread, as all here.
[[nodiscard]] Result<CertifiedKey> make_authority(const std::string& common_name,
                                                  Validity validity);

/// A new key and a certificate for it, signed by the authority. Errc::invalid, naming the part, if
/// the authority is damaged or a name is none.
[[nodiscard]] Result<CertifiedKey> issue_certificate(const CertifiedKey& authority,
                                                     const CertificateRequest& request);

/// A new key, and the request by which an authority signs it without seeing it (PKCS #10); both as
/// PEM text.
struct SigningRequest {
    std::string request;
    std::string key;
};

[[nodiscard]] Result<SigningRequest> make_signing_request();

/// A certificate as `certificate` has it for the key of the request; what the request says beside
/// that counts for nothing. Errc::invalid, as of issue_certificate(), and for a key that is not on
/// P-256 or did not sign the request.
[[nodiscard]] Result<std::string> sign_request(const CertifiedKey& authority,
                                               std::string_view request,
                                               const CertificateRequest& certificate);

/// To be renewed: two thirds are over, or it lies in the future, for a clock was wrong when it was
/// made, or is now.
[[nodiscard]] bool is_due(const Validity& validity, WallTime now) noexcept;

/// Of the first certificate in the text.
[[nodiscard]] Result<Validity> validity_of(std::string_view certificate);

/// Errc::invalid unless both can be read and the key is that of the first certificate.
[[nodiscard]] Status check_key(const CertifiedKey& pair);

/// The same, and the certificate must be one of an authority.
[[nodiscard]] Status check_authority(const CertifiedKey& pair);

/// Errc::refused unless one of the authorities' keys signed the first certificate. Says nothing
/// about times and names.
[[nodiscard]] Status check_signature(std::string_view certificate, std::string_view authorities);

/// Overwrites a secret that is no longer needed.
void cleanse(std::string& secret) noexcept;

}  // namespace scout
