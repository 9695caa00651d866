// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/releaser.h"

namespace scout::openssl {

using Bio = std::unique_ptr<BIO, Releaser<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Releaser<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;

}  // namespace scout::openssl
