// SPDX-License-Identifier: Apache-2.0
#include "base/certificates.h"

#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/certificate_names.h"
#include "base/logging.h"
#include "base/openssl_handles.h"
#include "base/releaser.h"

namespace scout {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Key;
using Request = std::unique_ptr<X509_REQ, Releaser<X509_REQ_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Releaser<X509_EXTENSION_free>>;
using Time = std::unique_ptr<ASN1_TIME, Releaser<ASN1_TIME_free>>;

constexpr std::size_t longest_common_name = 64;
/// RFC 5280 allows 20 octets, of which the sign takes a bit.
constexpr std::size_t serial_bytes = 16;
/// Of the keys that are made and signed here.
constexpr const char* curve = "P-256";

/// What OpenSSL has to say is of no use to a person, and must not be told to the next caller.
tl::unexpected<Error> broken(std::string message, Errc code = Errc::invalid) {
    ERR_clear_error();
    return fail(code, std::move(message));
}

tl::unexpected<Error> out_of_order(std::string_view step) {
    return broken("OpenSSL failed to " + std::string{step}, Errc::internal);
}

/// A key that asks for a password must not stop a daemon at a prompt.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
    return 0;
}

Bio reader_of(std::string_view text) {
    return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

Certificate next_certificate(BIO* from) {
    Certificate certificate{PEM_read_bio_X509(from, nullptr, no_password, nullptr)};
    ERR_clear_error();
    return certificate;
}

Result<Certificate> read_certificate(std::string_view text) {
    auto certificate = next_certificate(reader_of(text).get());
    if (!certificate) {
        return broken("expected a certificate in PEM form, found none");
    }
    return certificate;
}

Result<Key> read_key(std::string_view text) {
    Key key{PEM_read_bio_PrivateKey(reader_of(text).get(), nullptr, no_password, nullptr)};
    if (!key) {
        return broken("expected a private key in PEM form without a password, found none");
    }
    return key;
}

struct Pair {
    Certificate certificate;
    Key key;
};

Result<Pair> read_pair(const CertifiedKey& text) {
    auto certificate = read_certificate(text.chain);
    if (!certificate) {
        return fail(std::move(certificate.error()));
    }
    auto key = read_key(text.key);
    if (!key) {
        return fail(std::move(key.error()));
    }
    if (X509_check_private_key(certificate->get(), key->get()) != 1) {
        return broken("expected the private key of the certificate, found another one");
    }
    return Pair{.certificate = *std::move(certificate), .key = *std::move(key)};
}

/// Memory of a BIO is overwritten when it is released.
std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string{};
}

Result<std::string> text_of(X509* certificate) {
    const Bio text{BIO_new(BIO_s_mem())};
    if (PEM_write_bio_X509(text.get(), certificate) != 1) {
        return out_of_order("write a certificate");
    }
    return text_of(text.get());
}

Result<std::string> text_of(EVP_PKEY* key) {
    const Bio text{BIO_new(BIO_s_mem())};
    if (PEM_write_bio_PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return out_of_order("write a private key");
    }
    return text_of(text.get());
}

Result<Key> make_key() {
    Key key{EVP_EC_gen(curve)};
    if (!key) {
        return out_of_order("make a key");
    }
    return key;
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, serial_bytes> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        return false;
    }
    bytes.front() = static_cast<unsigned char>((bytes.front() & 0x3fU) | 0x40U);
    const std::unique_ptr<BIGNUM, Releaser<BN_free>> number{
        BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr)};
    return number &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, const Validity& validity) {
    const auto seconds = [](WallTime time) {
        return static_cast<std::time_t>(
            std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    };
    // It writes two digits of the year before 2050 and four from then on, as RFC 5280 wants it.
    return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(validity.from)) != nullptr &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(validity.until)) != nullptr;
}

bool set_common_name(X509* certificate, const std::string& name) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                      MBSTRING_UTF8, bytes, static_cast<int>(name.size()), -1,
                                      0) == 1;
}

/// `value` is constant text of ours: OpenSSL reads a small language there.
bool extend(X509* certificate, X509* issuer, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Extension extension{X509V3_EXT_conf_nid(nullptr, &context, kind, value)};
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

const char* usage_of(CertificatePurpose purpose) {
    switch (purpose) {
        case CertificatePurpose::server:
            return "serverAuth";
        case CertificatePurpose::client:
            return "clientAuth";
        case CertificatePurpose::both:
            return "serverAuth,clientAuth";
    }
    return "";
}

/// The begin of a certificate for a key: all that an authority and others have in common.
Result<Certificate> begin(const std::string& common_name, const Validity& validity, EVP_PKEY* key) {
    if (common_name.empty() || common_name.size() > longest_common_name) {
        return fail(Errc::invalid,
                    "expected a common name of 1 to 64 bytes, found " + log_value(common_name));
    }
    Certificate begun{X509_new()};
    X509* const certificate = begun.get();
    if (!begun || X509_set_version(certificate, X509_VERSION_3) != 1 || !set_serial(certificate) ||
        !set_validity(certificate, validity) || X509_set_pubkey(certificate, key) != 1) {
        return out_of_order("begin a certificate");
    }
    if (!set_common_name(certificate, common_name)) {
        return broken("expected a common name in UTF-8, found " + log_value(common_name));
    }
    return begun;
}

/// The extensions that tell keys apart, and the signature; as PEM text.
Result<std::string> finish(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
    if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
        !extend(certificate, issuer, NID_subject_key_identifier, "hash") ||
        !extend(certificate, issuer, NID_authority_key_identifier, "keyid:always") ||
        X509_sign(certificate, issuer_key, EVP_sha256()) <= 0) {
        return out_of_order("sign a certificate");
    }
    return text_of(certificate);
}

/// A certificate for the key, which need only be a public one.
Result<std::string> issue(const CertifiedKey& authority, const CertificateRequest& request,
                          EVP_PKEY* key) {
    const auto issuer = read_pair(authority);
    if (!issuer) {
        auto error = issuer.error();
        return fail(std::move(error).within("certificate authority"));
    }
    const auto made = begin(request.common_name, request.validity, key);
    if (!made) {
        return fail(made.error());
    }
    X509* const own = made->get();
    X509* const signer = issuer->certificate.get();
    if (!extend(own, signer, NID_basic_constraints, "critical,CA:FALSE") ||
        !extend(own, signer, NID_key_usage, "critical,digitalSignature") ||
        !extend(own, signer, NID_ext_key_usage, usage_of(request.purpose))) {
        return out_of_order("issue a certificate");
    }
    if (auto named = add_names(own, request.names); !named) {
        return fail(std::move(named.error()));
    }
    return finish(own, signer, issuer->key.get());
}

/// With the private key that it is for.
Result<CertifiedKey> with_key(Result<std::string> chain, EVP_PKEY* key) {
    auto text = text_of(key);
    if (!chain || !text) {
        return fail(std::move(chain ? text.error() : chain.error()));
    }
    return CertifiedKey{.chain = *std::move(chain), .key = *std::move(text)};
}

bool is_on_our_curve(const EVP_PKEY* key) {
    std::array<char, 32> group{};
    const bool known = EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1;
    return known && EC_curve_nist2nid(curve) == OBJ_sn2nid(group.data());
}

Validity read_validity(const X509* certificate) {
    const auto time = [](const ASN1_TIME* text) {
        std::tm parts{};
        ASN1_TIME_to_tm(text, &parts);
        return WallTime{std::chrono::seconds{::timegm(&parts)}};
    };
    return {.from = time(X509_get0_notBefore(certificate)),
            .until = time(X509_get0_notAfter(certificate))};
}

}  // namespace

Result<CertifiedKey> make_authority(const std::string& common_name, Validity validity) {
    const auto key = make_key();
    const auto made = key.and_then([&common_name, &validity](const Key& own) {
        return begin(common_name, validity, own.get());
    });
    if (!made) {
        auto error = made.error();
        return fail(std::move(error).within("make an authority"));
    }
    X509* const own = made->get();
    if (!extend(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign")) {
        return out_of_order("make an authority");
    }
    return with_key(finish(own, own, key->get()), key->get());
}

Result<CertifiedKey> issue_certificate(const CertifiedKey& authority,
                                       const CertificateRequest& request) {
    const auto key = make_key();
    if (!key) {
        return fail(key.error());
    }
    return with_key(issue(authority, request, key->get()), key->get());
}

Result<SigningRequest> make_signing_request() {
    const auto key = make_key();
    if (!key) {
        return fail(key.error());
    }
    const Request request{X509_REQ_new()};
    const Bio text{BIO_new(BIO_s_mem())};
    if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
        X509_REQ_set_pubkey(request.get(), key->get()) != 1 ||
        X509_REQ_sign(request.get(), key->get(), EVP_sha256()) <= 0 ||
        PEM_write_bio_X509_REQ(text.get(), request.get()) != 1) {
        return out_of_order("make a signing request");
    }
    auto secret = text_of(key->get());
    if (!secret) {
        return fail(std::move(secret.error()));
    }
    return SigningRequest{.request = text_of(text.get()), .key = *std::move(secret)};
}

Result<std::string> sign_request(const CertifiedKey& authority, std::string_view request,
                                 const CertificateRequest& certificate) {
    const Request read{
        PEM_read_bio_X509_REQ(reader_of(request).get(), nullptr, no_password, nullptr)};
    if (!read) {
        return broken("expected a signing request in PEM form, found none");
    }
    EVP_PKEY* const key = X509_REQ_get0_pubkey(read.get());
    if (key == nullptr || !is_on_our_curve(key)) {
        return broken(std::string{"expected a signing request with a key on "} + curve +
                      ", found another key");
    }
    if (X509_REQ_verify(read.get(), key) != 1) {
        return broken("expected a signing request signed with its own key, found another signer");
    }
    return issue(authority, certificate, key);
}

bool is_due(const Validity& validity, WallTime now) noexcept {
    return now < validity.from || now >= validity.from + (validity.until - validity.from) * 2 / 3;
}

Result<Validity> validity_of(std::string_view certificate) {
    return read_certificate(certificate).map([](const Certificate& read) {
        return read_validity(read.get());
    });
}

Status check_key(const CertifiedKey& pair) {
    return read_pair(pair).map([](const Pair&) {});
}

Status check_authority(const CertifiedKey& pair) {
    const auto read = read_pair(pair);
    if (!read) {
        return fail(read.error());
    }
    if (X509_check_ca(read->certificate.get()) != 1) {
        return broken("expected the certificate of an authority, found one that may sign none");
    }
    return {};
}

Status check_signature(std::string_view certificate, std::string_view authorities) {
    const auto signed_one = read_certificate(certificate);
    if (!signed_one) {
        return fail(signed_one.error());
    }
    const auto all = reader_of(authorities);
    bool any = false;
    while (const auto authority = next_certificate(all.get())) {
        any = true;
        if (X509_verify(signed_one->get(), X509_get0_pubkey(authority.get())) == 1) {
            return {};
        }
    }
    if (!any) {
        return broken("expected certificates of authorities in PEM form, found none");
    }
    return broken("expected a certificate signed by the authority given, found another signer",
                  Errc::refused);
}

void cleanse(std::string& secret) noexcept {
    OPENSSL_cleanse(secret.data(), secret.size());
    secret.clear();
}

}  // namespace scout
