// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <openssl/x509v3.h>

#include "base/clock.h"

namespace scout::test {

/// What a peer expects of a certificate.
struct ExpectedCertificate {
    std::string name = "scout.default.svc";  ///< or an address
    WallTime now;
    int purpose = X509_PURPOSE_SSL_SERVER;
};

/// As OpenSSL judges it with these authorities, strictly: X509_V_OK or why not.
[[nodiscard]] int verify_certificate(const std::string& certificate, const std::string& authorities,
                                     const ExpectedCertificate& expected);

}  // namespace scout::test
