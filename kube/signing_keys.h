// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/types.h>

#include "base/result.h"
#include "kube/service_account_token.h"

namespace scout::kube {

/// The public keys by which tokens are signed, from a JSON Web Key Set (RFC 7517). Immutable.
class SigningKeys {
public:
    /// Keys of other kinds than SignatureKind, and for other uses, are left out. Errc::invalid: no
    /// such set, or no such key in it.
    [[nodiscard]] static Result<SigningKeys> parse(std::string_view text);

    [[nodiscard]] bool has(std::string_view key_id) const;

    /// Whether a key of that id signed the token; of several with one id it may be any.
    /// Errc::refused names the id.
    [[nodiscard]] Status verify(const ServiceAccountToken& token) const;

private:
    struct Key {
        std::string id;
        SignatureKind kind;
        std::shared_ptr<EVP_PKEY> key;
    };
    std::vector<Key> keys_;
};

}  // namespace scout::kube
