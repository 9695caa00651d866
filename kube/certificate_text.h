// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <openssl/x509_vfy.h>

namespace scout::kube {

/// Why OpenSSL refuses a server's certificate, from within its verify callback: "certificate has
/// expired: valid until …", "expected a certificate for 'a', found one for b, 10.0.0.1".
[[nodiscard]] std::string why_refused(X509_STORE_CTX* store, const std::string& expected_name);

}  // namespace scout::kube
