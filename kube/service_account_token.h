// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace scout::kube {

/// What a service account's token says; names are empty where it says nothing.
struct TokenClaims {
    std::vector<std::string> audiences;
    WallTime not_before{};
    WallTime expires{};
    std::string space;    ///< namespace of the account and of its pod
    std::string account;  ///< name of the account
    std::string pod;      ///< that the token is bound to
    std::string node;     ///< that this pod runs on; API servers since 1.30 tell
};

enum class SignatureKind : std::uint8_t { rs256, es256 };

/// A service account's token, taken apart: a JSON Web Token (RFC 7519) in compact form. Nothing of
/// it is to be believed before SigningKeys::verify().
struct ServiceAccountToken {
    SignatureKind kind = SignatureKind::rs256;
    std::string key_id;
    std::string signed_text;  ///< what the signature is of
    std::string signature;
    TokenClaims claims;
};

/// Errc::refused with what was expected and found; never with a part of the signature. Pure.
[[nodiscard]] Result<ServiceAccountToken> parse_token(std::string_view text);

/// Whether the token is for `audience` and in force; clocks may differ by 30 s. Errc::refused.
/// Pure.
[[nodiscard]] Status check_claims(const TokenClaims& claims, std::string_view audience,
                                  WallTime now);

}  // namespace scout::kube
