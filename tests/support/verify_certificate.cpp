// SPDX-License-Identifier: Apache-2.0
#include "tests/support/verify_certificate.h"

#include <chrono>
#include <memory>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include "base/openssl_handles.h"
#include "base/releaser.h"

namespace scout::test {
namespace {

using Store = std::unique_ptr<X509_STORE, Releaser<X509_STORE_free>>;
using Context = std::unique_ptr<X509_STORE_CTX, Releaser<X509_STORE_CTX_free>>;

openssl::Bio reader_of(const std::string& pem) {
    return openssl::Bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

openssl::Certificate next(BIO* from) {
    openssl::Certificate certificate{PEM_read_bio_X509(from, nullptr, nullptr, nullptr)};
    ERR_clear_error();
    return certificate;
}

}  // namespace

int verify_certificate(const std::string& certificate, const std::string& authorities,
                       const ExpectedCertificate& expected) {
    const Store store{X509_STORE_new()};
    const auto all = reader_of(authorities);
    while (const auto authority = next(all.get())) {
        X509_STORE_add_cert(store.get(), authority.get());
    }
    const auto leaf = next(reader_of(certificate).get());
    const Context context{X509_STORE_CTX_new()};
    X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
    auto* rules = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_purpose(rules, expected.purpose);
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_time(
        rules, std::chrono::floor<std::chrono::seconds>(expected.now).time_since_epoch().count());
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, expected.name.c_str()) != 1) {
        X509_VERIFY_PARAM_set1_host(rules, expected.name.c_str(), 0);
    }
    X509_verify_cert(context.get());
    return X509_STORE_CTX_get_error(context.get());
}

}  // namespace scout::test
